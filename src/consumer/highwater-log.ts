import type { LogEvent } from './event';
import type {
  BatchContext,
  ConsumeBatchesOptions,
  ConsumeOptions,
  HandlerContext,
  ReadOptions,
} from './options';
import type { FeedRecords, TopicEvents } from './schemas';
import type { Table, TableOptions } from './table';

/** A topic, without prefix, whose events have types: of the feeds that come with highwater, and of `highwater schemas types`. */
export type KnownTopic = keyof TopicEvents;

/** A log to read, from `connect`. Values of topics that `highwater.yaml` adds are `unknown` without the types of `highwater schemas types`. */
export interface HighwaterLog {
  /**
   * Calls the handler with each event of the topics, at least once. Events of one partition come in order, one after the other. An
   * event is done when the handler's promise resolves. Resolves after `options.signal` or `close`.
   * @throws HighwaterError CONSUMER_HANDLER_FAILED, LOG_POSITION_LOST, CONFIG_INVALID, KAFKA_*, LOG_*. The group stays before the first
   * event that is not done
   */
  consume<Topic extends KnownTopic>(
    options: ConsumeOptions<Topic>,
    handler: (event: TopicEvents[Topic], context: HandlerContext) => unknown,
  ): Promise<void>;
  consume(
    options: ConsumeOptions,
    handler: (event: LogEvent, context: HandlerContext) => unknown,
  ): Promise<void>;
  /**
   * As `consume`, but calls the handler with a batch: up to `maxBatch` consecutive events of one partition. A batch fails and is tried
   * again as a whole.
   */
  consumeBatches<Topic extends KnownTopic>(
    options: ConsumeBatchesOptions<Topic>,
    handler: (events: readonly TopicEvents[Topic][], context: BatchContext) => unknown,
  ): Promise<void>;
  consumeBatches(
    options: ConsumeBatchesOptions,
    handler: (events: readonly LogEvent[], context: BatchContext) => unknown,
  ): Promise<void>;
  /**
   * Events of a topic, without a group. Ends after the last event, or with `follow` at the signal.
   * @throws HighwaterError LOG_POSITION_LOST, VALUE_FOREIGN, SCHEMA_UNKNOWN, CONFIG_INVALID, KAFKA_*, LOG_*; the signal's reason
   */
  read<Topic extends KnownTopic>(topic: Topic, options?: ReadOptions): AsyncIterable<TopicEvents[Topic]>;
  read(topic: string, options?: ReadOptions): AsyncIterable<LogEvent>;
  /**
   * The present records of a feed, in memory and kept up to date. Resolves when they are loaded.
   * @throws HighwaterError SCHEMA_UNKNOWN, CONFIG_INVALID, KAFKA_*, LOG_*; the signal's reason
   */
  table<Feed extends keyof FeedRecords>(
    feed: Feed,
    options?: TableOptions<FeedRecords[Feed]>,
  ): Promise<Table<FeedRecords[Feed]>>;
  table(feed: string, options?: TableOptions): Promise<Table>;
  /** Ends all consumers, readers and tables of this log after their event in hand. A handler must not await it: it would wait for itself. */
  close(): Promise<void>;
}
