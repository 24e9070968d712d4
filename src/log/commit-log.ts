import type { Grant, JoinOptions, Membership } from './membership';

/**
 * The log to which batches are committed. Two adapters stand behind this port: the embedded log (SQLite) and Kafka. One
 * contract suite (`test/contract/commit-log.ts`) holds both to what is written here.
 */
export interface CommitLog {
  /**
   * Takes a place among the instances that share these feeds; on a log that only one process writes to, it shares with nobody.
   * Returns at once.
   */
  join(feeds: readonly FeedTopics[], options: JoinOptions): Membership;
  /**
   * Makes this process the owner of a feed and fences whoever owned it before: nothing of an earlier owner can be
   * committed after this resolves. Creates missing topics; one that exists keeps its number of partitions.
   * @param signal ends waiting for the log, here and in what the session does later
   * @param grant by which the feed is this instance's: asked before it is taken back from whoever refused a batch
   * @throws HighwaterError LOG_OWNED when a live owner holds it and the log can tell; LOG_TOPIC_MISMATCH when a topic that
   * exists is kept in another way (compacted or not) than the feed needs; another LOG_* or KAFKA_* when the log cannot be used
   */
  acquire(topics: FeedTopics, signal: AbortSignal, grant?: Grant): Promise<FeedSession>;
  /**
   * Writes records of a topic that belongs to no feed, beside whoever publishes. Creates the topic when it is missing. Records
   * of one key keep the order in which they were given, over calls too. Resolves when they are committed. After an error they
   * may have been written all the same: readers of such a topic must bear a record twice.
   * @param signal ends waiting for the log
   * @throws HighwaterError LOG_TOPIC_MISMATCH when the topic exists and is compacted; LOG_CLOSED; another LOG_* or KAFKA_*
   */
  append(topic: SharedTopicSpec, records: readonly ProducerRecord[], signal: AbortSignal): Promise<void>;
  /**
   * Committed records in log order per partition. Ends at the end of the log, or never with `follow`, until the signal, at
   * which it ends without an error. Where it begins is settled by the call. A topic that nobody has written yet is empty.
   */
  read(topics: readonly string[], options: ReadOptions): AsyncIterable<LogRecord>;
  /**
   * Which live instance has which feed, by name of the feed; a feed that nobody has is not there. On a log that only one
   * process writes to, its writer has them all.
   * @throws HighwaterError KAFKA_*, LOG_* when that cannot be asked; the signal's reason
   */
  owners(feeds: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, string>>;
  /** Names of the topics that the log has, sorted; null while there is no log to have any. */
  topicNames(): Promise<readonly string[] | null>;
  close(): Promise<void>;
}

/** One owner's hold of one feed, from acquire to release. */
export interface FeedSession {
  /** Random id of this ownership; every source offset that it commits carries it. */
  readonly ownerEpoch: string;
  /** Size of the largest record that the log takes, key, value and headers together. Infinity: any. */
  readonly maxRecordBytes: number;
  /** How many partitions one of the feed's topics has: what was asked for, or what an existing topic has. */
  partitionsOf(topic: string): number;
  /**
   * What is kept of one of the feed's compacted topics, in log order per key: of each key at least the latest committed
   * record. Earlier ones may come before it, tombstones too: who reads folds them.
   * @throws the signal's reason: half of a state must not pass for the whole. LOG_RESTORE_STALLED
   */
  restore(topic: string, signal: AbortSignal): AsyncIterable<LogRecord>;
  /** Takes records over for a later commit, in the form in which the log writes them: whoever gives them need not keep them. */
  gather(): Gathered;
  /**
   * All records of the batch or none. Resolves when they are committed. After any error but those named below nothing was
   * written, and the same batch can be committed again.
   * @throws HighwaterError LOG_FENCED when another owner took the feed, or the batch's position names another ownership than
   * this one: nothing was written, state must be restored. LOG_OUTCOME_UNKNOWN when it cannot be learned whether the batch
   * was committed, LOG_TOPIC_LOST when a topic of the feed is gone or has lost records, and nothing was written: the session is
   * of no more use, state must be restored. LOG_CLOSED after release or close
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

/** A topic that belongs to no feed: any instance may append to it. */
export interface SharedTopicSpec extends TopicSpec {
  readonly cleanup: 'delete';
  /** How long a record is kept at least, by its timestamp. */
  readonly retentionMs: number;
}

/** Records of one transaction that is not whole yet. */
export interface Gathered {
  /**
   * Takes each record over before it asks for the next one, whose value may lie in the same memory. All of them or none: where that
   * fails in between, all is as it was before.
   */
  add(records: Iterable<ProducerRecord>): void;
  /** Total size of all values so far. */
  readonly valueBytes: number;
}

/** One transaction: the events of one page or a few, the new images, the dead letters, and last the source offset. */
export interface TransactionBatch {
  readonly feed: string;
  /** Gathered records belong to this session and to this batch only. */
  readonly records: readonly ProducerRecord[] | Gathered;
  /** Identity of the transaction, also in the headers of the source offset: tells later whether exactly this was committed. */
  readonly position: BatchPosition;
}

export interface BatchPosition {
  readonly incarnation: string;
  readonly ownerEpoch: string;
  readonly commit: number;
}

/** The headers of a source offset, by which a log knows the batch that it ends. */
export function positionHeaders({ incarnation, ownerEpoch, commit }: BatchPosition): Record<string, string> {
  return { incarnation, owner_epoch: ownerEpoch, commit: String(commit) };
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

/**
 * Key of the fences that owners write into compacted topics. No record may have it as its id: compaction keeps one record of a key,
 * so the next fence would take the record away, and readers that tell fences by the key would never see it.
 */
export const FENCE_KEY = '__highwater_fence';

export interface LogRecord extends ProducerRecord {
  readonly partition: number;
  /** Position in the partition; grows, may have gaps. */
  readonly logOffset: number;
}

export interface ReadOptions {
  /** From the first retained record, else only what is committed after the call. */
  readonly fromBeginning: boolean;
  /** With `fromBeginning`: from no earlier record than this. */
  readonly notBefore?: ReadStart;
  /** Go on at the end of the log and wait for more. */
  readonly follow: boolean;
  /** Without `follow`: leave out and warn of what cannot be read now, instead of failing. A reader that follows always does. */
  readonly canBePartial?: boolean;
  readonly signal: AbortSignal;
}

/**
 * `sinceMs`: the first record of each partition with that timestamp or a later one, and maybe some before it: a log may
 * find no more than its neighbourhood. `positionsToEnd`: so many positions before the end of each partition, which are
 * fewer records where positions have gaps. Records written after the call are read in either case.
 */
export type ReadStart = { readonly sinceMs: number } | { readonly positionsToEnd: number };
