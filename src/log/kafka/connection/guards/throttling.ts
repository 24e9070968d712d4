import type { Logger } from '../../../../logging/logger';
import type { Broker, RequestQueue } from '../cluster';

/** Shorter ones smooth what a client does, and nobody notices them. In ms. */
const WORTH_TELLING_MS = 1_000;
/** A quota that has held nothing back for this long is over. Longer than a minute: a feed may write once in that time. In ms. */
const OVER_MS = 120_000;

/**
 * Has the connections of a client rest when they have nothing to send, and says when a quota of the brokers begins to hold it back, and
 * when it no longer does: kafkajs only waits.
 * @param onThrottled is told each time, with the time in ms
 * @returns to be called for each broker of the client
 */
export function queueWatch(logger: Logger, onThrottled: (ms: number) => void) {
  /** When the quota that people were told of is over, by performance.now(); null: they were told of none. */
  let overAt: number | null = null;
  return ({ connectionPool }: Broker): void => {
    for (const { requestQueue } of connectionPool.pool) {
      restWhenEmpty(requestQueue);
      const throttle = requestQueue.maybeThrottle;
      requestQueue.maybeThrottle = (ms) => {
        throttle.call(requestQueue, ms);
        const now = performance.now();
        if (!ms) {
          if (overAt === null || now < overAt) return;
          overAt = null;
          logger.warn('Quotas of the brokers no longer hold this client back.');
          return;
        }
        onThrottled(ms);
        const isNews = overAt === null;
        if (isNews && ms < WORTH_TELLING_MS) return;
        overAt = now + ms + OVER_MS;
        if (!isNews) return;
        logger.warn(`A quota of the brokers holds this client back, now for ${Math.ceil(ms / 1_000)} s.`, {
          now: 'It reads and writes more slowly. Nothing is lost.',
          remedy:
            'Raise the quota of this user or client id (kafka-configs.sh --entity-type users or clients: producer_byte_rate, consumer_byte_rate, request_percentage). Smaller pages help a producer.',
        });
      };
    }
  };
}

/**
 * Stops the timer of a connection that has nothing to send (tulios/kafkajs#1751, #1704). From its first answer on a connection looks
 * for requests to send when a quota ends, by a timer of `throttledUntil - now`. Without a quota that is below zero, so it looks
 * every millisecond, for good; Node 24 reports it on stderr (TimeoutNegativeWarning). While requests are held back, the
 * timer is right and is set as before.
 */
export function restWhenEmpty(queue: RequestQueue): void {
  const schedule = queue.scheduleCheckPendingRequests;
  queue.scheduleCheckPendingRequests = () => {
    if (queue.pending.length > 0) schedule.call(queue);
  };
}
