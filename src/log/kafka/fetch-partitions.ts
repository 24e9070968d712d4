import { HighwaterError } from '../../errors';
import type { Cluster } from './cluster';
import { type FetchedPartition, fetchBatches } from './fetch';

/** Where to read from. */
export interface Place {
  readonly topic: string;
  readonly partition: number;
  /** Offset of the record to come. */
  readonly next: bigint;
}

export const BYTES_PER_PARTITION = 4 * 1_048_576;
const BYTES_PER_ANSWER = 32 * 1_048_576;

/** Of Kafka's protocol. */
export const [READ_UNCOMMITTED, READ_COMMITTED] = [0, 1] as const;

/**
 * One answer of a broker, by `<topic> <partition>`. One that asks too much may get one without partitions, and has to wait.
 * @throws errors of kafkajs; HighwaterError LOG_UNREADABLE
 */
export async function fetchPartitions(
  cluster: Cluster,
  nodeId: string,
  positions: readonly Place[],
  { isolationLevel, maxWaitMs, maxBytes }: Wanted,
): Promise<Map<string, FetchedPartition>> {
  const broker = await cluster.findBroker({ nodeId });
  // Who comes first is served first, and the last ones may be left out.
  const first = turns++ % positions.length;
  const { responses } = await fetchBatches(broker, {
    isolationLevel,
    maxWaitTime: maxWaitMs,
    minBytes: maxWaitMs === 0 ? 0 : 1,
    maxBytes: BYTES_PER_ANSWER,
    topics: [...positions.slice(first), ...positions.slice(0, first)].map(({ topic, partition, next }) => ({
      topic,
      partitions: [{ partition, fetchOffset: String(next), maxBytes }],
    })),
  });
  const found = new Map<string, FetchedPartition>();
  for (const { topicName, partitions } of responses) {
    for (const fetched of partitions) found.set(`${topicName} ${fetched.partition}`, fetched);
  }
  return found;
}

interface Wanted {
  /** Of Kafka's protocol. */
  readonly isolationLevel: 0 | 1;
  /** How long the broker waits for records where there are none; 0: not at all. */
  readonly maxWaitMs: number;
  /** Of each partition. */
  readonly maxBytes: number;
}

let turns = 0;

/** The broker that leads a partition. @throws HighwaterError LOG_FAILED */
export function leaderOf(cluster: Cluster, place: Pick<Place, 'topic' | 'partition'>): string {
  const [nodeId] = Object.keys(cluster.findLeaderForPartitions(place.topic, [place.partition]));
  if (nodeId === undefined) throw missingPartition(place);
  return nodeId;
}

function missingPartition({ topic, partition }: Pick<Place, 'topic' | 'partition'>): HighwaterError {
  const what = `partition ${partition} of topic ${topic} has no leader, or is not there any more`;
  return new HighwaterError('LOG_FAILED', what, {
    remedy: 'Nothing, when it passes. Else look into the log of the brokers.',
  });
}

/** Brokers send the first batch whole, however large: what is taken for its length is not. To step on would lose its records. */
export function notWhole(
  { topic, partition, next }: Place,
  { recordBytes }: FetchedPartition,
): HighwaterError {
  const what = `of ${topic}/${partition} from offset ${next} on came ${recordBytes} bytes, which are no whole batch`;
  return new HighwaterError('LOG_UNREADABLE', what);
}
