import type { TopicPartition } from 'kafkajs';
import { HighwaterError } from '../../../errors';
import { byTopic, type Cluster } from '../connection/cluster';
import { askLeaders, byLeader, partitionsOf, tryUnreachable } from './leaderless';
import type { PartitionPosition } from './partition-reader';
import { READ_COMMITTED, READ_UNCOMMITTED } from './partition-reader';

/** In Kafka's protocol these stand for a time. */
const [FIRST_RETAINED, LAST] = [-2, -1] as const;

/**
 * An offset of each partition: of the first retained record (`beginning`), behind the last record that readers are shown (`end`),
 * behind the last record of all, also of open transactions (`written`), or of the first record that is as late as a time.
 * @returns without leaderless partitions, if the cluster accepts these
 * @throws errors of kafkajs
 */
export async function partitionOffsets(
  cluster: Cluster,
  topics: readonly string[],
  at: 'beginning' | 'end' | 'written' | { readonly sinceMs: number },
): Promise<PartitionPosition[]> {
  tryUnreachable(cluster);
  const timestamp = typeof at === 'object' ? at.sinceMs : at === 'beginning' ? FIRST_RETAINED : LAST;
  const isolationLevel = at === 'written' ? READ_UNCOMMITTED : READ_COMMITTED;
  const led = byLeader(cluster, partitionsOf(cluster, topics));
  const answers = await askLeaders(cluster, led, async (nodeId, places) => {
    const broker = await cluster.findBroker({ nodeId });
    const asked = byTopic(places, ({ partition }) => ({ partition, timestamp }));
    return broker.listOffsets({ isolationLevel, topics: asked });
  });
  const found = answers.flatMap(({ responses }) => responses);
  return found.flatMap(({ topic, partitions }) =>
    partitions.map(({ partition, offset }) => ({ topic, partition, next: BigInt(offset), end: null })),
  );
}

/** The offset of the first record of each partition that readers are shown and that is as late as a time; else the end. */
export async function offsetsSince(cluster: Cluster, topics: readonly string[], sinceMs: number) {
  // The end is asked for first: records that are written between the two answers lie behind it.
  const ends = await partitionOffsets(cluster, topics, 'end');
  const found = await partitionOffsets(cluster, topics, { sinceMs });
  return ends.map((end) => {
    // -1: no record is so late.
    const since = placeIn(found, end)?.next ?? -1n;
    return since >= 0n && since < end.next ? { ...end, next: since } : end;
  });
}

/** The one of the same partition. */
export function placeIn<Place extends TopicPartition>(
  places: readonly Place[],
  { topic, partition }: TopicPartition,
): Place | undefined {
  return places.find((one) => one.topic === topic && one.partition === partition);
}

/** The offsets that a partition holds: from the first retained record up to an end, which is exclusive. */
export interface OffsetRange extends TopicPartition {
  readonly first: bigint;
  readonly end: bigint;
}

/** @returns without the partitions that `partitionOffsets` leaves out @throws errors of kafkajs */
export async function offsetRanges(cluster: Cluster, topics: readonly string[], at: 'end' | 'written') {
  const [firsts, ends] = await Promise.all([
    partitionOffsets(cluster, topics, 'beginning'),
    partitionOffsets(cluster, topics, at),
  ]);
  return ends.flatMap(({ topic, partition, next: end }) => {
    const first = placeIn(firsts, { topic, partition })?.next;
    return first === undefined ? [] : [{ topic, partition, first, end }];
  });
}

/** A position outside of what its partition holds. */
export interface Stray extends OffsetRange {
  readonly position: PartitionPosition;
}

/** The positions that are out of range. A partition whose range is not known is left out. @throws errors of kafkajs */
export async function strays(cluster: Cluster, positions: readonly PartitionPosition[]): Promise<Stray[]> {
  const ranges = await offsetRanges(cluster, topicsOf(positions), 'written');
  return positions.flatMap((position) => {
    const range = placeIn(ranges, position);
    const isWithin = range === undefined || (position.next >= range.first && position.next <= range.end);
    return isWithin ? [] : [{ ...range, position }];
  });
}

export function positionLost({ topic, partition, first, end, position }: Stray): HighwaterError {
  const what = `offset ${position.next} of partition ${partition} of ${topic} was to be read next, and it holds ${first} to ${end}`;
  return new HighwaterError('LOG_POSITION_LOST', what);
}

export function topicsOf(partitions: readonly TopicPartition[]): string[] {
  return [...new Set(partitions.map(({ topic }) => topic))];
}
