import type { Grant, JoinOptions, Membership } from './membership';

/** The log for programs that only read it. */
export interface LogReader {
  /**
   * Committed records, in log order per partition. The iteration ends at the end of the log, or with `follow` only at the signal,
   * without an error. The call fixes where it begins. A topic that does not exist yet is empty.
   */
  read(topics: readonly string[], options: ReadOptions): AsyncIterable<LogRecord>;
  /**
   * Name of a feed → the live instance that owns it. Feeds without an owner are left out.
   * @throws HighwaterError KAFKA_*, LOG_* if the owners cannot be asked; the signal's reason
   */
  owners(feeds: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, string>>;
  /** Names of the topics in the log, sorted; null while there is no log. */
  topicNames(): Promise<readonly string[] | null>;
  close(): Promise<void>;
}

/**
 * The log to which batches are committed. Two adapters implement this port: the embedded log (SQLite) and Kafka. The contract
 * suite `test/contract/commit-log.ts` tests both.
 */
export interface CommitLog extends LogReader {
  /**
   * Joins the instances that share these feeds. On the embedded log there is only this one. Returns at once.
   */
  join(feeds: readonly FeedTopics[], options: JoinOptions): Membership;
  /**
   * Makes this process the owner of a feed and fences the owner before: an earlier owner can commit nothing after this
   * resolves. Creates missing topics; an existing topic keeps its number of partitions.
   * @param signal ends waiting for the log, here and in later calls of the session
   * @param grant the group's permission: it is asked again before a feed is taken back after a refused batch
   * @throws HighwaterError LOG_OWNED if a live owner holds the feed and the log knows it; LOG_TOPIC_MISMATCH if an existing topic has
   * another cleanup policy than the feed needs; another LOG_* or KAFKA_* if the log cannot be used
   */
  acquire(topics: FeedTopics, signal: AbortSignal, grant?: Grant): Promise<FeedSession>;
  /**
   * Writes records to a topic that belongs to no feed. Several processes may do so. Creates the topic if it is missing, even if there
   * are no records to write. Records of one key keep their order, also over several calls. Resolves when they are committed. After an
   * error they may have been written nevertheless, so readers of such a topic must accept a record twice.
   * @param signal ends waiting for the log
   * @throws HighwaterError LOG_TOPIC_MISMATCH if the topic exists and is compacted; LOG_CLOSED; another LOG_* or KAFKA_*
   */
  append(topic: SharedTopicSpec, records: readonly ProducerRecord[], signal: AbortSignal): Promise<void>;
}

/** The ownership of one feed, from acquire to release. */
export interface FeedSession {
  /** Random id of this ownership, carried by every source offset that it commits. */
  readonly ownerEpoch: string;
  /** The ids of the feed's topics by their names. A topic that is created again gets another. Empty: the log has no ids, or loses no topic. */
  readonly topicIds: ReadonlyMap<string, string>;
  /** Bytes of the largest record that the log accepts by now, with key, value and headers. Infinity: any size. */
  maxRecordBytes(): number;
  /** Partitions of one of the feed's topics. An existing topic may have another number than its spec. */
  partitionsOf(topic: string): number;
  /**
   * The records of one of the feed's compacted topics, in log order per key: at least the latest committed record of each key.
   * Earlier records and tombstones may come before it, so the reader keeps the last one of each key.
   * @param after only records behind this end, as an earlier session gave it. Tombstones may be missing there
   * @throws the signal's reason, because half of a state must not pass for the whole; LOG_RESTORE_STALLED; LOG_TOPIC_LOST if the topic
   * does not reach to `after`, or is another one
   */
  restore(topic: string, signal: AbortSignal, after?: TopicEnd): AsyncIterable<LogRecord>;
  /**
   * Where one of the compacted topics ends: before it lies every record that was there when the session began, or was committed by it.
   * @returns null if that is not certain: a batch is on its way, its outcome is unknown, or the session is over
   */
  endOf(topic: string): TopicEnd | null;
  /**
   * Begins to collect records for a later commit, in the form in which the log writes them. The caller need not keep them.
   * @throws HighwaterError LOG_TOPIC_LOST, LOG_TOPIC_MISMATCH: the session cannot be used again
   */
  gather(): Gathered;
  /**
   * Commits all records of the batch or none, and resolves when they are committed. After any other error than those below,
   * nothing was written and the same batch can be committed again.
   * @throws HighwaterError LOG_FENCED if another owner took the feed, or the batch names another ownership: nothing was written.
   * LOG_OUTCOME_UNKNOWN if nobody can tell whether the batch was committed. LOG_TOPIC_LOST if a topic of the feed is gone or has
   * lost records: nothing was written. After these three the session cannot be used again, and the state must be restored.
   * LOG_CLOSED after release or close
   */
  commit(batch: TransactionBatch): Promise<void>;
  /** Lets others have the feed. May be called again. */
  release(): Promise<void>;
}

/** Where a topic ended. Plain data, which can be kept and given to a later session. */
export interface TopicEnd {
  /** A topic that was created again has another one. Null: the log has no ids. */
  readonly topicId: string | null;
  /** By partition: each record before the end has a lower offset. */
  readonly offsets: readonly number[];
  /** Number of the session's last batch; null: there was none. */
  readonly commit: number | null;
}

/** All topics to which one feed writes. */
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
  /** A record is kept at least this long after its timestamp, ms. */
  readonly retentionMs: number;
}

/** Records of a transaction that is still being collected. */
export interface Gathered {
  /**
   * Adds all of the records, or none if it throws. Each record is copied before the next one is asked for, whose value may lie in the
   * same memory.
   */
  add(records: Iterable<ProducerRecord>): void;
  /** Total size of all values so far. */
  readonly valueBytes: number;
}

/** One transaction: the events of one or a few pages, the new images, the dead letters, and last the source offset. */
export interface TransactionBatch {
  readonly feed: string;
  /** Gathered records can be used only by their session, and in only one batch. */
  readonly records: readonly ProducerRecord[] | Gathered;
  /** Identity of the transaction. It is also in the headers of the source offset, which later shows whether this was committed. */
  readonly position: BatchPosition;
}

export interface BatchPosition {
  readonly incarnation: string;
  readonly ownerEpoch: string;
  readonly commit: number;
}

/** The headers of a source offset, by which a log recognises its batch. */
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
  /** True: from the first retained record. False: only records that are committed after the call. */
  readonly fromBeginning: boolean;
  /** With `fromBeginning`: a later place to begin. */
  readonly notBefore?: ReadStart;
  /** Wait for more records at the end of the log. */
  readonly follow: boolean;
  /** Without `follow`: leave out partitions that cannot be read now, with a warning, instead of failing. A reader that follows always does. */
  readonly canBePartial?: boolean;
  readonly signal: AbortSignal;
}

/**
 * `sinceMs`: the first record of each partition with this or a later timestamp, and maybe some records before it. `positionsToEnd`:
 * this many positions before the end of each partition, which are fewer records if positions have gaps. In both cases records
 * written after the call are read too.
 */
export type ReadStart = { readonly sinceMs: number } | { readonly positionsToEnd: number };
