import type { LogEvent } from './event';
import type { BatchContext, ConsumeBatchesOptions, ConsumeOptions, HandlerContext } from './options';
import type { ReadOptions } from './read';
import type { FeedRecords, TopicEvents } from './schemas';
import type { Table, TableOptions } from './table';

/** A topic, without prefix, whose events have types: those of the feeds that come with highwater, and of `highwater schemas types`. */
export type KnownTopic = keyof TopicEvents;

/** What `connect` gives. Topics and feeds that `highwater.yaml` adds have the types of `highwater schemas types`, else their values are `unknown`. */
export interface HighwaterLog {
  /**
   * Hands each event of some topics to a function, at least once, those of one partition one after the other and in order. An event
   * counts as done when the function returns. Resolves after `options.signal`, or `close`.
   * @throws HighwaterError CONSUMER_HANDLER_FAILED, LOG_POSITION_LOST, KAFKA_*, LOG_*: the group stands before what was not done
   */
  consume<Topic extends KnownTopic>(
    options: ConsumeOptions<Topic>,
    handler: (event: TopicEvents[Topic], context: HandlerContext) => unknown,
  ): Promise<void>;
  consume(
    options: ConsumeOptions,
    handler: (event: LogEvent, context: HandlerContext) => unknown,
  ): Promise<void>;
  /** As `consume`, with as many events at once as there are: consecutive ones of one partition. They fail and are tried again together. */
  consumeBatches<Topic extends KnownTopic>(
    options: ConsumeBatchesOptions<Topic>,
    handler: (events: readonly TopicEvents[Topic][], context: BatchContext) => unknown,
  ): Promise<void>;
  consumeBatches(
    options: ConsumeBatchesOptions,
    handler: (events: readonly LogEvent[], context: BatchContext) => unknown,
  ): Promise<void>;
  /** Events of a topic without a group: all that is there, or on and on. */
  read<Topic extends KnownTopic>(topic: Topic, options?: ReadOptions): AsyncIterable<TopicEvents[Topic]>;
  read(topic: string, options?: ReadOptions): AsyncIterable<LogEvent>;
  /** A feed's records as they are now, in memory, kept up to date from then on. */
  table<Feed extends keyof FeedRecords>(
    feed: Feed,
    options?: TableOptions<FeedRecords[Feed]>,
  ): Promise<Table<FeedRecords[Feed]>>;
  table(feed: string, options?: TableOptions): Promise<Table>;
  /** Ends all of the above, what is in hand first: a handler that waits for this waits for itself. */
  close(): Promise<void>;
}
