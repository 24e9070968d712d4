import type { Logger } from '../../logger';

/** What this was written for. */
const VERSION = '2.2.4';

/** What a connection of kafkajs sends through, as far as it is needed here; not part of its published types. */
interface RequestQueue {
  /** Held back, by a quota of the brokers or because enough is on its way. */
  readonly pending: readonly unknown[];
  /** Sets a timer that sends what it can of `pending`, and then calls this again. */
  scheduleCheckPendingRequests(): void;
}

export interface KafkajsInside {
  readonly version: string;
  /** Asked for with the right version only. */
  requestQueue(): { readonly prototype: RequestQueue };
}

const installed: KafkajsInside = {
  version: (require('kafkajs/package.json') as { version: string }).version,
  requestQueue: () =>
    require('kafkajs/src/network/requestQueue') as ReturnType<KafkajsInside['requestQueue']>,
};

const seen = new WeakSet<KafkajsInside>();

/**
 * Lets the connections of kafkajs rest while nothing is held back (tulios/kafkajs#1751, #1704). From its first answer on each
 * of them looks for requests to send when a quota ends, by a timer of `throttledUntil - now`. Without a quota that is below
 * zero, so it looks every millisecond, for good; Node 24 says so on stderr (TimeoutNegativeWarning). When something is held
 * back the timer is right, and is set as before.
 *
 * Holds for every client in this process of the same copy of kafkajs. Another version is left as it is, and said once.
 */
export function restRequestQueues(logger: Logger, kafkajs: KafkajsInside = installed): void {
  if (seen.has(kafkajs)) return;
  seen.add(kafkajs);
  const queue = kafkajs.version === VERSION ? kafkajs.requestQueue().prototype : null;
  const schedule = queue?.scheduleCheckPendingRequests;
  if (queue === null || typeof schedule !== 'function') {
    logger.warn(
      `kafkajs ${kafkajs.version} is not the ${VERSION} that highwater knows: its idle connections may keep a processor busy ` +
        '(tulios/kafkajs#1751). Install the version that highwater asks for.',
    );
    return;
  }
  queue.scheduleCheckPendingRequests = function (this: RequestQueue) {
    if (this.pending.length > 0) schedule.call(this);
  };
}
