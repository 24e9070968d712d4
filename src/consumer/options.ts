import type { EventFilter } from './event';

/** What `consume` and `consumeBatches` have in common. */
export interface GroupConsumeOptions<Topic extends string = string> {
  /** Consumers of one group share the work; each group gets everything. */
  readonly group: string;
  /** Names without the prefix: `ipos`, `ipos.deal-status`. */
  readonly topics: readonly Topic[];
  /**
   * Where a group begins in a topic in which it never was: with the first event that is kept, or with what comes after this
   * call (default). From then on its own place counts, whatever is said here.
   */
  readonly from?: 'beginning' | 'end';
  /** By headers, before anything is decoded. Events that are not wanted count as done. */
  readonly where?: EventFilter;
  /** Ends it: the event in hand is finished, the group told, and left. */
  readonly signal?: AbortSignal;
  /** Retries of an event (a batch) whose handler throws. */
  readonly retry?: RetryOptions;
  /**
   * Where your own database stands, for exactly once: asked when a partition is given, instead of what the group remembers.
   * The handler writes the place (`event.offset + 1`, or `next` of a batch) in the same transaction as what it makes of the event.
   */
  readonly positions?: PositionStore;
  /** After so long without a sign of life the group goes on without this consumer, ms. Default 10,000. */
  readonly sessionTimeoutMs?: number;
}

export interface RetryOptions {
  /** Tries, the first one counted. Default 5. Infinity: until it succeeds, for what waits for another system. */
  readonly attempts?: number;
  /** Whether another try may help. Default: always. What this says no to has failed at once: `stop` or `dead-letter`. */
  readonly isRetriable?: (error: unknown) => boolean;
  /** Greatest pause before the second try, ms, then twice as long each time; default 200. Full jitter. */
  readonly delayMs?: number;
  /** Greatest pause of all, ms; default 10,000. */
  readonly maxDelayMs?: number;
}

export interface PositionStore {
  /**
   * Offset of the record to come; null when nothing of the partition was ever done: with `from: 'beginning'` it then begins there,
   * also where the group has been before, since the database may be a new one.
   * @param topicId of a topic that is deleted and created again it is another one, and a place in the earlier topic counts for
   * nothing: keep it with the place, and return null for another id. Null where the log knows no ids: the embedded one, and Kafka
   * before 2.8
   */
  load(topic: string, partition: number, topicId: string | null): Promise<number | null> | number | null;
}

export interface ConsumeOptions<Topic extends string = string> extends GroupConsumeOptions<Topic> {
  /**
   * What becomes of an event whose handler fails at every try. `stop` (default): the consumer ends with CONSUMER_HANDLER_FAILED, its
   * group stands before the event. `dead-letter`: the event goes to the topic `<group>.dead-letters`, unchanged but for headers
   * `error.*`, and the consumer goes on.
   */
  readonly onFailure?: 'stop' | 'dead-letter';
}

export interface ConsumeBatchesOptions<Topic extends string = string> extends GroupConsumeOptions<Topic> {
  /** Most events in one call. Default 500. */
  readonly maxBatch?: number;
}

/** Beside each event. */
export interface HandlerContext {
  /** Aborted when this consumer ends, or has to give the partition away: what takes long should hurry. */
  readonly signal: AbortSignal;
  /** As `PositionStore.load` is told it. */
  readonly topicId: string | null;
}

/** Beside each batch: consecutive events of one partition. */
export interface BatchContext extends HandlerContext {
  readonly topic: string;
  readonly partition: number;
  /** Offset of the record to come once the batch is done. */
  readonly next: number;
  /** 1 for the first try. */
  readonly attempt: number;
}
