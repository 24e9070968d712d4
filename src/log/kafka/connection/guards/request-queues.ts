import type { Kafka } from 'kafkajs';
import { adaptBrokers } from './each-broker';

/** Through which a connection of kafkajs sends; not part of its published types. */
export interface RequestQueue {
  /** Requests that a quota of the brokers holds back, or that wait because enough others are on their way. */
  readonly pending: readonly unknown[];
  /** Sets a timer that sends as much of `pending` as possible, and then calls this again. */
  scheduleCheckPendingRequests(): void;
}

interface PooledBroker {
  readonly connectionPool: { readonly pool: readonly { readonly requestQueue: RequestQueue }[] };
}

/**
 * Stops the timers of connections that have nothing to send (tulios/kafkajs#1751, #1704). From its first answer on a connection looks
 * for requests to send when a quota ends, by a timer of `throttledUntil - now`. Without a quota that is below zero, so it looks
 * every millisecond, for good; Node 24 reports it on stderr (TimeoutNegativeWarning). While requests are held back, the
 * timer is right and is set as before.
 */
export function restRequestQueues(kafka: Kafka): Kafka {
  return adaptBrokers<PooledBroker>(kafka, ({ connectionPool }) => {
    for (const { requestQueue } of connectionPool.pool) restWhenEmpty(requestQueue);
  });
}

export function restWhenEmpty(queue: RequestQueue): void {
  const schedule = queue.scheduleCheckPendingRequests;
  queue.scheduleCheckPendingRequests = () => {
    if (queue.pending.length > 0) schedule.call(queue);
  };
}
