import type { TopicPartition } from 'kafkajs';
import { HighwaterError } from '../../../errors';
import type { Logger } from '../../../logging/logger';
import type { ReadOptions } from '../../commit-log';
import type { Cluster } from '../connection/cluster';
import { protocolType } from '../connection/kafka-failure';
import { topicIds } from '../protocol/newer-requests';
import { type LeaderlessNotes, leaderlessSince, partitionsOf } from './leaderless';
import { offsetsSince, partitionOffsets, placeIn, positionLost, strays, topicsOf } from './offsets';
import { isAtEnd, type PartitionPosition } from './partition-reader';
import { knowTopic } from './reading';

/** A reader that does not follow waits for this long for records that ought to come, in ms. */
export const GIVE_UP_MS = 30_000;
/** Time to wait for open transactions without new records, in ms. */
const SETTLE_MS = 2_000;

/** How topics are read without a group: from where, and up to where. */
export interface TopicReading extends Omit<ReadOptions, 'signal'> {
  /**
   * Reading fails if records that were to come are gone, or the topic was recreated; there is only one topic. Otherwise it goes on with
   * the records that are there.
   */
  readonly exact?:
    | {
        /** Null: the topic that has the name when reading begins. */
        readonly topicId: string | null;
        /** As `ConsumerLog.follow` takes it. */
        readonly from: ReadonlyMap<number, number | null>;
      }
    | undefined;
  readonly notes: LeaderlessNotes;
  readonly logger: Logger;
}

/** The partitions of one reading, and how far it is in each. */
export class TopicPositions {
  private all: PartitionPosition[] = [];
  /** Partitions that existed at the call and whose end could not be asked for then. They must not be read from their beginning. */
  private late: TopicPartition[] = [];
  /** Topics that were read and do not exist now, and in how many looks in a row they were missing. */
  private readonly missed = new Map<string, number>();
  private readonly calledAt = Date.now();
  /** The id of the topic of an exact reading. Null while it is not known, and if the brokers know no ids. */
  private topicId: string | null;

  constructor(
    private readonly cluster: Cluster,
    private readonly names: readonly string[],
    private readonly reading: TopicReading,
  ) {
    this.topicId = reading.exact?.topicId ?? null;
    for (const [partition, next] of reading.exact?.from ?? [])
      if (next === null) this.late.push({ topic: names[0]!, partition });
  }

  /** Finds the partitions, where to begin, and without `follow` where to end. May be called again after an error. */
  async begin(): Promise<void> {
    const { exact, follow, fromBeginning, notes } = this.reading;
    await this.cluster.connect();
    await this.addPartitions(true);
    if (exact !== undefined) return;
    this.late = partitionsOf(this.cluster, this.names).filter((one) => !placeIn(this.all, one));
    if (follow) return;
    // Up to the present ends of the topics; otherwise a busy publisher could keep a reader for ever. Open transactions count too,
    // since a commit is answered before its markers are written.
    for (const end of await partitionOffsets(this.cluster, topicsOf(this.all), 'written')) {
      const position = placeIn(this.all, end);
      if (position !== undefined) position.end = end.next;
    }
    this.all = fromBeginning ? this.all.filter(({ end }) => end !== null) : [];
    notes.look(this.cluster, this.names, true);
  }

  /** An end that is asked for from now on is no longer the end at the call. */
  noteDelay(): void {
    this.late = partitionsOf(this.cluster, this.names);
  }

  /** Finds partitions that were added, or ends reading partitions that stay leaderless. */
  async look(): Promise<void> {
    if (this.reading.follow) return this.addPartitions();
    await this.cluster.refreshMetadata();
    this.all = this.all.filter((position) => !this.reading.notes.note(this.cluster, position));
  }

  /** The positions that can be asked for now. */
  present(): PartitionPosition[] {
    return this.all.filter(({ topic }) => !this.missed.has(topic));
  }

  /** Whether all was read, or only open transactions are left. @throws HighwaterError LOG_RESTORE_STALLED */
  isOver(emptyMs: number): boolean {
    if (this.reading.follow) return false;
    const left = this.all.filter((position) => !isAtEnd(position));
    const heldBack = left.find(({ isHeldBack }) => isHeldBack);
    if (left.length === 0) return true;
    if (heldBack === undefined) return emptyMs > SETTLE_MS;
    if (emptyMs <= GIVE_UP_MS) return false;
    const { topic, partition, next, end } = heldBack;
    const what = `${topic}/${partition} could not be read beyond offset ${next} of ${end}, though there is more`;
    throw new HighwaterError('LOG_RESTORE_STALLED', what, {
      now: 'Reading ends here. Everything before this is complete.',
      remedy:
        'Nothing, if it passes. Otherwise look into the logs of the brokers and of their remote storage.',
    });
  }

  /**
   * After a failed round: a topic was deleted or created again, or retention removed the next records.
   * @throws HighwaterError LOG_POSITION_LOST if the reading is exact
   */
  async recover(failure: unknown): Promise<void> {
    const { exact, logger } = this.reading;
    logger.debug('reading is tried again', { topics: this.names, error: failure });
    const type = protocolType(failure);
    if (type === 'UNKNOWN_TOPIC_OR_PARTITION' && exact === undefined) {
      this.leaveOutDeleted(await namesOf(this.cluster));
      await this.cluster.refreshMetadata();
    }
    if (type !== 'OFFSET_OUT_OF_RANGE') return;
    for (const stray of await strays(this.cluster, this.all)) {
      // Retention may pass the beginning of a partition before it is read: then the partition begins elsewhere.
      if (exact !== undefined && !stray.position.isUnread) throw positionLost(stray);
      stray.position.next = stray.first;
    }
  }

  /** Takes up partitions that are there and not read yet. */
  private async addPartitions(isBeginning = false): Promise<void> {
    const { exact, follow, notes } = this.reading;
    const found = await this.existing();
    if (found.length === 0) return;
    await this.cluster.addMultipleTargetTopics(found);
    await this.cluster.refreshMetadata();
    // The id is asked for before the offsets. If the topic is recreated in between, reading at these offsets is refused.
    if (exact !== undefined) await this.assertSame(found[0]!);
    const known = await partitionOffsets(this.cluster, found, 'beginning');
    if (follow) notes.look(this.cluster, found);
    const added = known.filter((one) => !placeIn(this.all, one)).map((one) => this.placed(one));
    const late = added.filter((one) => placeIn(this.late, one));
    const others = added.filter((one) => !late.includes(one));
    const leapt = await this.leap(late, true);
    const leaps = isBeginning && exact === undefined;
    this.all.push(...(leaps ? await this.leap(others, false) : others), ...leapt);
    this.late = this.late.filter((one) => !placeIn(leapt, one));
  }

  /** The topics that are there. */
  private async existing(): Promise<readonly string[]> {
    const { cluster, names } = this;
    if (this.reading.exact !== undefined) return (await knowTopic(cluster, names[0]!)) ? names : [];
    const isWhole = this.missed.size === 0 && names.every((name) => topicsOf(this.all).includes(name));
    return isWhole ? names : this.leaveOutDeleted(await namesOf(cluster));
  }

  /** @throws HighwaterError LOG_POSITION_LOST if the topic is not the one that the positions are of */
  private async assertSame(topic: string): Promise<void> {
    const id = (await topicIds(this.cluster, [topic])).get(topic) ?? null;
    this.topicId ??= id;
    if (id !== null && id !== this.topicId)
      throw new HighwaterError('LOG_POSITION_LOST', `the topic ${topic} was deleted and created again`);
  }

  /** @param beginning of the partition */
  private placed(beginning: PartitionPosition): PartitionPosition {
    const { topicId } = this;
    const next = this.reading.exact?.from.get(beginning.partition) ?? null;
    if (next === null) return { ...beginning, topicId, isUnread: true };
    return { ...beginning, topicId, next: BigInt(next) };
  }

  /**
   * Advances positions to the place where the reader begins.
   * @param isLate their end was unknown at the call, so they do not pass records written since the call
   * @returns the positions for which a leader could be asked
   */
  private async leap(positions: readonly PartitionPosition[], isLate: boolean): Promise<PartitionPosition[]> {
    const { fromBeginning, notBefore } = this.reading;
    const startAt = fromBeginning ? notBefore : { positionsToEnd: 0 };
    if (startAt === undefined || positions.length === 0) return [...positions];
    const topics = topicsOf(positions);
    const starts =
      'sinceMs' in startAt
        ? await offsetsSince(this.cluster, topics, startAt.sinceMs)
        : await partitionOffsets(this.cluster, topics, 'end');
    const written = isLate
      ? await offsetsSince(this.cluster, topics, leaderlessSince(this.calledAt))
      : starts;
    const back = 'positionsToEnd' in startAt ? BigInt(startAt.positionsToEnd) : 0n;
    return positions.filter((position) => {
      const [start, latest] = [placeIn(starts, position), placeIn(written, position)];
      if (start === undefined || latest === undefined) return false;
      const next = start.next - back < latest.next ? start.next - back : latest.next;
      if (next > position.next) position.next = next;
      return true;
    });
  }

  /**
   * Leaves out topics that were deleted, since Kafka refuses a question about several topics when one of them does not exist. A topic
   * that comes back is a new topic and is read from its beginning. It takes two looks: a single broker may be behind the others.
   * @returns the names that are there
   */
  private leaveOutDeleted(existing: readonly string[]): string[] {
    for (const name of this.names) if (!existing.includes(name)) this.cluster.targetTopics.delete(name);
    for (const name of topicsOf(this.all)) {
      if (existing.includes(name)) {
        this.missed.delete(name);
        continue;
      }
      const times = (this.missed.get(name) ?? 0) + 1;
      this.missed.set(name, times);
      if (times < 2) continue;
      this.all = this.all.filter(({ topic }) => topic !== name);
      this.missed.delete(name);
      this.reading.logger.warn(
        `The topic ${name} was deleted. The others are read on; it is read again once it is there.`,
      );
    }
    return this.names.filter((name) => existing.includes(name));
  }
}

/** Names of all topics of a cluster, sorted, Kafka's own left out. @throws HighwaterError KAFKA_UNREACHABLE; errors of kafkajs */
export async function namesOf(cluster: Cluster): Promise<string[]> {
  const metadata = await cluster.metadata({ topics: [] });
  if (metadata === null)
    throw new HighwaterError('KAFKA_UNREACHABLE', 'listing the topics: no broker answers');
  return metadata.topicMetadata
    .map(({ topic }) => topic)
    .filter((name) => !name.startsWith('__'))
    .sort();
}
