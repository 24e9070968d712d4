import type { EventFilter } from './event';

/** Options of `consume` and `consumeBatches`. */
export interface GroupConsumeOptions<Topic extends string = string> {
  /** Name without the prefix. Consumers of one group share the events; each group gets all of them. */
  readonly group: string;
  /** Names without the prefix: `ipos`, `ipos.deal-status`. */
  readonly topics: readonly Topic[];
  /**
   * Where a group begins in a partition for which it has no position: at the first event that is kept, or at the events that come after
   * this call (default). Otherwise its committed position counts. `stored-or-fail`: a group without a position ends with
   * LOG_POSITION_LOST, except in topics and partitions that were added, which it reads from their beginning. For groups that are not
   * new: brokers forget positions (`offsets.retention.minutes`, a week by default).
   */
  readonly from?: 'beginning' | 'end' | 'stored-or-fail';
  /**
   * If the position is no longer in the log: `stop` (default) ends the consumer with LOG_POSITION_LOST. `continue`: it warns, and goes on
   * with the first event that is kept.
   */
  readonly onLost?: 'stop' | 'continue';
  /** Conditions on headers and key, checked before decoding. Events that do not match count as done. */
  readonly where?: EventFilter;
  /** Ends the consumer: it finishes the event in hand, commits its position and leaves the group. */
  readonly signal?: AbortSignal;
  /** Retries of an event, or of a batch, whose handler throws. */
  readonly retry?: RetryOptions;
  /**
   * For exactly once: your own database keeps the positions, and is asked for them when a partition is assigned. The handler writes
   * the position (`event.offset + 1`, or `next` of a batch) in the same transaction as its results.
   */
  readonly positions?: PositionStore;
  /** How often the position is committed, ms: a crash repeats the work of this time at most. Default 1,000; 0: after each event. */
  readonly commitEveryMs?: number;
  /** The group goes on without a consumer that gives no sign of life for this long, ms. Default 10,000. */
  readonly sessionTimeoutMs?: number;
}

export interface RetryOptions {
  /** Number of tries, including the first. Default 5. Infinity: until it succeeds, for a handler that waits for another system. */
  readonly attempts?: number;
  /** False: the event has failed at once, without another try. Default: always true. */
  readonly isRetriable?: (error: unknown) => boolean;
  /** Longest pause before the second try, ms; it doubles with each try. The pause is random (full jitter). Default 200. */
  readonly delayMs?: number;
  /** Longest pause before any try, ms. Default 10,000. */
  readonly maxDelayMs?: number;
  /** The pause before the next try that another system asked for, ms. Undefined: the usual one. */
  readonly pauseMs?: (error: unknown) => number | undefined;
}

export interface PositionStore {
  /**
   * Offset of the next record; null if nothing of the partition is done. With null and `from: 'beginning'`, the consumer begins at
   * the first event, even if the group has a position, because the database may be new.
   * @param topicId changes if the topic is deleted and created again. A position in the earlier topic is then worthless: store the
   * id with the position, and return null for another id. The id is null on the embedded log and before Kafka 2.8
   */
  load(topic: string, partition: number, topicId: string | null): Promise<number | null> | number | null;
}

export interface ConsumeOptions<Topic extends string = string> extends GroupConsumeOptions<Topic> {
  /**
   * For an event whose handler fails at every try. `stop` (default): the consumer ends with CONSUMER_HANDLER_FAILED, and its group
   * stays before the event. `dead-letter`: the event goes to the topic `<group>.dead-letters` with additional headers `error.*`, and
   * the consumer goes on.
   */
  readonly onFailure?: 'stop' | 'dead-letter';
}

export interface ConsumeBatchesOptions<Topic extends string = string> extends GroupConsumeOptions<Topic> {
  /** Most events in one call. Default 500. */
  readonly maxBatch?: number;
}

/** Second argument of the handler of `consume`. */
export interface HandlerContext {
  /** Aborted when this consumer ends or has to give the partition away: the handler should then finish quickly. */
  readonly signal: AbortSignal;
  /** The same id as in `PositionStore.load`. */
  readonly topicId: string | null;
  /** Says why the event is not done yet: `highwater groups` shows it until the position moves. */
  note(why: string): Promise<void>;
}

/** Second argument of the handler of `consumeBatches`. A batch has consecutive events of one partition. */
export interface BatchContext extends HandlerContext {
  readonly topic: string;
  readonly partition: number;
  /** Offset of the record after the batch. */
  readonly next: number;
  /** 1 for the first try. */
  readonly attempt: number;
}

/** Options of `read`. */
export interface ReadOptions {
  /** `beginning` (default): from the first event that is kept. `end`: only events that are committed after the iteration begins. */
  readonly from?: 'beginning' | 'end';
  /** At the end, wait for more events until the signal. Default: false. */
  readonly follow?: boolean;
  readonly where?: EventFilter;
  /** Ends the iteration: with `follow` without an error, otherwise with the signal's reason. */
  readonly signal?: AbortSignal;
}
