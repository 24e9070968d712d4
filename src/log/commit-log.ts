/**
 * The log to which batches are committed. Two adapters stand behind this port: the embedded log (SQLite) and Kafka. One
 * contract suite (`test/contract/commit-log.ts`) holds both to what is written here.
 */
export interface CommitLog {
  /**
   * Makes this process the owner of a feed and fences whoever owned it before: nothing of an earlier owner can be
   * committed after this resolves. Creates missing topics; one that exists keeps its number of partitions.
   * @throws HighwaterError LOG_OWNED when a live owner holds it and the log can tell; LOG_TOPIC_MISMATCH when a topic that
   * exists is kept in another way (compacted or not) than the feed needs; another LOG_* when the log cannot be opened
   */
  acquire(topics: FeedTopics, signal: AbortSignal): Promise<FeedSession>;
  /**
   * Committed records in log order per partition. Ends at the end of the log, or never with `follow`, until the signal, at
   * which it ends without an error. Where it begins is settled by the call. A topic that nobody has written yet is empty.
   */
  read(topics: readonly string[], options: ReadOptions): AsyncIterable<LogRecord>;
  close(): Promise<void>;
}

/** One owner's hold of one feed, from acquire to release. */
export interface FeedSession {
  /** Random id of this ownership; every source offset that it commits carries it. */
  readonly ownerEpoch: string;
  /**
   * The latest committed record of each key of one of the feed's compacted topics, tombstones left out.
   * @throws the signal's reason: half of a state must not pass for the whole
   */
  restore(topic: string, signal: AbortSignal): AsyncIterable<LogRecord>;
  /**
   * All records of the batch or none. Resolves when they are committed. After any error but LOG_FENCED and LOG_CLOSED
   * nothing was written, and the same batch can be committed again.
   * @throws HighwaterError LOG_FENCED when another owner took the feed, or the batch's position names another ownership than
   * this one: nothing was written, state must be restored. LOG_CLOSED after release or close
   */
  commit(batch: TransactionBatch): Promise<void>;
  /** Lets others have the feed. May be called again. */
  release(): Promise<void>;
}

/** Names and shapes of all topics that one feed writes. */
export interface FeedTopics {
  readonly feed: string;
  readonly changes: TopicSpec;
  readonly current: TopicSpec;
  readonly sourceOffset: TopicSpec;
  readonly deadLetters: TopicSpec;
  readonly transitions: readonly TopicSpec[];
}

export interface TopicSpec {
  readonly name: string;
  readonly partitions: number;
  readonly cleanup: 'delete' | 'compact' | 'compact,delete';
}

/** One transaction: the events of a page, the new images, the dead letters and the source offset. */
export interface TransactionBatch {
  readonly feed: string;
  readonly records: readonly ProducerRecord[];
  /** Identity of the transaction, also inside the source offset: tells later whether exactly this was committed. */
  readonly position: { readonly incarnation: string; readonly ownerEpoch: string; readonly commit: number };
}

export interface ProducerRecord {
  readonly topic: string;
  /** Plain text; decides the partition. */
  readonly key: string;
  /** Confluent wire format; null is a tombstone. */
  readonly value: Buffer | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Time of observation, ms. */
  readonly timestamp: number;
}

export interface LogRecord extends ProducerRecord {
  readonly partition: number;
  /** Position in the partition; grows, may have gaps. */
  readonly logOffset: number;
}

export interface ReadOptions {
  /** From the first retained record, else only what is committed after the call. */
  readonly fromBeginning: boolean;
  /** Go on at the end of the log and wait for more. */
  readonly follow: boolean;
  readonly signal: AbortSignal;
}
