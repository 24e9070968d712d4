import type { LogRecord, ProducerRecord, SharedTopicSpec } from './commit-log';

/**
 * The log as its consumers meet it. Two adapters implement this port, the embedded log (SQLite) and Kafka. The contract suite
 * `test/contract/consumer-log.ts` tests both. Readers see only committed records, and never the publisher's own fences.
 */
export interface ConsumerLog {
  /** The file of the embedded log if there is none yet; null if there is one, and on Kafka. */
  missing(): string | null;
  /**
   * The end of each partition, or another offset of it; none if the topic does not exist.
   * @throws HighwaterError KAFKA_*, LOG_*; the signal's reason
   */
  ends(topic: string, at: EndsAt, signal: AbortSignal): Promise<TopicEnds>;
  /**
   * All that a topic holds, from its beginning through all that was written when this was called: transactions that
   * were open then are waited for. A compacted topic yields at least the latest record of each key, tombstones too; the
   * reader folds them. A topic that does not exist yields nothing.
   * @param isCompacted known to be; else the log finds out, if it matters: records that compaction took are not waited for
   * @throws HighwaterError LOG_RESTORE_STALLED, KAFKA_*, LOG_*; the signal's reason: half of a table must not pass for the whole
   */
  load(topic: string, signal: AbortSignal, isCompacted?: boolean): AsyncIterable<LogRecord>;
  /**
   * Committed records of a topic from given positions on, in log order per partition, for ever: ends without an error at the
   * signal. A partition that is not named, or a topic that appears later, is read from its beginning. A partition with null begins
   * with records that are committed after the call, and perhaps some of the minute before. While a partition has no leader, the
   * others are read on.
   * @param topicId the topic that the positions are of; left out or null: the topic that has the name when reading begins
   * @throws HighwaterError LOG_POSITION_LOST when records that were to come are not there any more, or the topic was deleted
   * and created again; KAFKA_*, LOG_*
   */
  follow(
    topic: string,
    from: ReadonlyMap<number, number | null>,
    signal: AbortSignal,
    topicId?: string | null,
  ): AsyncIterable<LogRecord>;
  /**
   * The groups that have a position in the log and whose names begin with a prefix, in any order, without that of the publishers.
   * @throws HighwaterError KAFKA_*, LOG_*; the signal's reason
   */
  groups(prefix: string, signal: AbortSignal): Promise<readonly GroupReport[]>;
  /**
   * Gives a group without live members other positions. Its next member begins there.
   * @throws HighwaterError GROUP_IN_USE: nothing was moved; KAFKA_*, LOG_*; the signal's reason
   */
  moveGroup(
    groupId: string,
    to: readonly (GroupPlace & Pick<TopicEnds, 'topicId'>)[],
    signal: AbortSignal,
  ): Promise<void>;
  /** Shares the partitions of topics with the other members of a group. Returns at once. */
  joinGroup(options: GroupOptions): GroupMember;
  /** As `CommitLog.append`. */
  append(topic: SharedTopicSpec, records: readonly ProducerRecord[], signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/**
 * `committed`: the position after the last record that readers see. `written`: after the last record of all, including open
 * transactions. `reachable`: as `committed`, but it does not wait for a partition without a leader, whose end is then null. To read
 * that partition from the call on, `follow` takes the null, and `AssignedPartition.range` has `sinceJoined`. `beginning`: of the first
 * record that is kept. `sinceMs`: of the first record with this time or a later one, in ms since 1970; as `committed` if there is none.
 */
export type EndsAt = 'committed' | 'written' | 'reachable' | 'beginning' | { readonly sinceMs: number };

export interface TopicEnds {
  /**
   * A topic that is deleted and created again under its name has another id. Null if the topic does not exist, or if the log has no
   * ids: the embedded log, whose topics cannot be deleted, and Kafka before 2.8. It was asked for before the ends.
   */
  readonly topicId: string | null;
  /** By partition. Null only for `reachable`. */
  readonly ends: ReadonlyMap<number, number | null>;
  /** By partition: offsets that no record has since the log was restored, from `after` up to `next`. Left out if there are none. */
  readonly gaps?: ReadonlyMap<number, readonly { readonly after: number; readonly next: number }[]>;
}

export interface GroupPlace extends Pick<AssignedPartition, 'topic' | 'partition'> {
  /** Offset of the record to come. */
  readonly next: number;
  /** Why the group stands there, as it was committed with it; empty, or left out: nothing was said. */
  readonly note?: string | undefined;
}

export interface GroupReport {
  readonly groupId: string;
  /** How many live members it has. Null: the log cannot tell without being in their way. */
  readonly members: number | null;
  readonly places: readonly GroupPlace[];
}

export interface GroupOptions {
  /** Full name of the group, including a prefix. */
  readonly groupId: string;
  /** Full names. One that does not exist yet is taken up when it does. */
  readonly topics: readonly string[];
  /** After so long without a sign of life the others go on without this member, in ms. */
  readonly sessionTimeoutMs: number;
  /**
   * Called for each partition that this member is given. It works until `revoked` and then returns soon. It first finishes and
   * commits the work in hand. The group waits for that, at most for the session timeout. When it returns or throws before that, the
   * partition rests until the next rebalance.
   */
  readonly work: (partition: AssignedPartition) => Promise<void>;
}

/** One partition in the hands of one member of a group. */
export interface AssignedPartition {
  readonly topic: string;
  readonly partition: number;
  /** Aborted when the partition goes to another member, or this one leaves. */
  readonly revoked: AbortSignal;
  /** As `TopicEnds.topicId`. */
  readonly topicId: string | null;
  /** The group has committed in an earlier topic of this name: everything that this one holds is new to it. */
  readonly isRecreated: boolean;
  /** Where the group stands: offset of the record to come. Null when it never committed in this topic. */
  readonly committed: number | null;
  readonly range: PartitionRange;
  /**
   * Committed records from an offset on, as they come, a few hundred at most at a time, never none; ends when the partition is
   * revoked. The next ones are fetched while these are worked on, and no more than that.
   * @param goesOn called with the offset of the first record that is kept, if it is behind a record that was to come. True: reading
   * goes on there. Default: false
   * @throws HighwaterError LOG_POSITION_LOST when `from` is before the first record that is kept, or after the end; KAFKA_*, LOG_*
   */
  records(from: number, goesOn?: (first: number) => boolean): AsyncIterable<readonly LogRecord[]>;
  /**
   * The latest offset that means the same as `next`, because readers are shown no record in between. On Kafka, markers of transactions
   * follow the last record: tools would count them as records that nobody has read, and retention may remove them.
   */
  settled(next: number): number;
  /**
   * Remembers for the group that everything before an offset, as `settled` has it, is done with. Also after `revoked`, until `work` returns.
   * @param note why the group stands there, for people; empty: nothing to say
   * @throws HighwaterError GROUP_LOST if the group has gone on without this member: the new owner of the partition begins at the
   * last committed position; KAFKA_*, LOG_*
   */
  commit(next: number, note?: string): Promise<void>;
}

/** Offsets of a partition when it was given to a member. */
export interface PartitionRange {
  /** Offset of the first record that the log still has. */
  readonly first: number;
  /** After the last committed record. */
  readonly end: number;
  /** Behind it is all that was committed since the member joined, and maybe some of the minute before. */
  readonly sinceJoined: number;
}

export interface GroupMember {
  /**
   * Rejects for errors that only a person can fix: a refused password, a missing permission, a session timeout that the brokers do
   * not accept. Failures that pass by themselves are waited out. Resolves once it has left.
   */
  readonly over: Promise<void>;
  /** Revokes all, waits for `work` to return, and leaves. May be called again. */
  leave(): Promise<void>;
}
