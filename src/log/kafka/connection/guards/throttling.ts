import type { Kafka } from 'kafkajs';
import type { Logger } from '../../../../logging/logger';
import { adaptBrokers } from './each-broker';

interface ThrottledQueue {
  /** Called for each answer, with the time for which the broker reads nothing more from this client, in ms. */
  maybeThrottle(ms: number | null | undefined): void;
}

interface PooledBroker {
  readonly connectionPool: { readonly pool: readonly { readonly requestQueue: ThrottledQueue }[] };
}

/** Shorter ones smooth what a client does, and nobody notices them. In ms. */
const WORTH_TELLING_MS = 1_000;

/**
 * Warns once for each client that a quota of the brokers holds back: kafkajs only waits.
 * @param onThrottled is told each time, with the time in ms
 */
export function tellThrottling(kafka: Kafka, logger: Logger, onThrottled: (ms: number) => void): Kafka {
  let isTold = false;
  return adaptBrokers<PooledBroker>(kafka, ({ connectionPool }) => {
    for (const { requestQueue } of connectionPool.pool) {
      const throttle = requestQueue.maybeThrottle;
      requestQueue.maybeThrottle = (ms) => {
        throttle.call(requestQueue, ms);
        if (ms) onThrottled(ms);
        if (isTold || (ms ?? 0) < WORTH_TELLING_MS) return;
        isTold = true;
        logger.warn(`A quota of the brokers holds this client back, now for ${Math.ceil(ms! / 1_000)} s.`, {
          now: 'It reads and writes more slowly. Nothing is lost.',
          remedy:
            'Raise the quota of this user or client id (kafka-configs.sh --entity-type users or clients: producer_byte_rate, consumer_byte_rate, request_percentage). Smaller pages help a producer.',
        });
      };
    }
  });
}
