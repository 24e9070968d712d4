import { type CompressionTypes, KafkaJSError, type Message } from 'kafkajs';
import { HighwaterError } from '../../errors';
import type { Cluster, ProducerIdentity } from './cluster';

export interface Place {
  readonly topic: string;
  readonly partition: number;
}

/** What is to be written to one partition by one request. */
export interface PartitionMessages extends Place {
  readonly messages: readonly Message[];
}

/** Where it went. */
export interface Appended extends PartitionMessages {
  /** Of the first record. */
  readonly baseOffset: bigint;
}

/** The numbers by which brokers know a record of a producer again: of each partition without a gap. */
export interface SequenceNumbers {
  next(place: Place): number;
  /** These were taken. */
  move(taken: PartitionMessages): void;
}

export function sequenceNumbers(): SequenceNumbers {
  /** By topic, then partition. */
  const numbers = new Map<string, Map<number, number>>();
  const next = ({ topic, partition }: Place): number => numbers.get(topic)?.get(partition) ?? 0;
  return {
    next,
    move({ topic, partition, messages }) {
      const own = numbers.get(topic) ?? new Map<number, number>();
      numbers.set(topic, own);
      // 32 bits, and none for the sign.
      own.set(partition, (next({ topic, partition }) + messages.length) % 2 ** 31);
    },
  };
}

/** As requests name partitions: each topic once. */
export function byTopic<P extends Place, T>(
  places: readonly P[],
  shape: (place: P) => T,
): { topic: string; partitions: T[] }[] {
  const topics = new Map<string, T[]>();
  for (const place of places) topics.set(place.topic, [...(topics.get(place.topic) ?? []), shape(place)]);
  return [...topics].map(([topic, partitions]) => ({ topic, partitions }));
}

/** By node id. @throws KafkaJSError for a partition without a leader: that passes */
export function byLeader(
  cluster: Cluster,
  sends: Iterable<PartitionMessages>,
): Map<string, PartitionMessages[]> {
  const groups = new Map<string, PartitionMessages[]>();
  for (const each of sends) {
    const { topic, partition } = each;
    const [leader] = Object.keys(cluster.findLeaderForPartitions(topic, [partition]));
    if (leader === undefined) throw new KafkaJSError(`no leader is known of ${topic}/${partition}`);
    groups.set(leader, [...(groups.get(leader) ?? []), each]);
  }
  return groups;
}

/** How long a broker may wait for its replicas, in ms. */
const REPLICAS_MS = 30_000;

/**
 * One request to one leader.
 * @throws what kafkajs throws, where one partition was refused: others may have taken theirs. HighwaterError LOG_FAILED for an
 * answer that is none to this request
 */
export async function produceTo(
  cluster: Cluster,
  nodeId: string,
  sends: readonly PartitionMessages[],
  identity: ProducerIdentity,
  sequences: SequenceNumbers,
  compression: CompressionTypes,
): Promise<Appended[]> {
  const broker = await cluster.findBroker({ nodeId });
  const { transactionalId, producerId, producerEpoch } = identity;
  const { topics } = await broker.produce({
    ...{ transactionalId, producerId, producerEpoch, compression, acks: -1, timeout: REPLICAS_MS },
    topicData: byTopic(sends, (each) => ({
      partition: each.partition,
      firstSequence: sequences.next(each),
      messages: each.messages,
    })),
  });
  const answers = topics.flatMap(({ topicName, partitions }) =>
    partitions.map((each) => ({ topic: topicName, ...each })),
  );
  return sends.map((each) => ({
    ...each,
    baseOffset: baseOffsetOf(each, answers, answers.length === sends.length),
  }));
}

interface Answer extends Place {
  readonly errorCode: number;
  readonly baseOffset?: string | undefined;
}

/** @throws HighwaterError LOG_FAILED unless the answer is that this partition took the messages, once */
function baseOffsetOf(
  { topic, partition, messages }: PartitionMessages,
  answers: readonly Answer[],
  isComplete: boolean,
): bigint {
  const taken = answers.find((one) => one.topic === topic && one.partition === partition);
  const offset = taken?.errorCode === 0 && isComplete ? BigInt(taken.baseOffset ?? -1) : -1n;
  if (offset >= 0n) return offset;
  const answer = answers.map((one) => `${one.topic}/${one.partition} with code ${one.errorCode}`);
  throw new HighwaterError(
    'LOG_FAILED',
    `${messages.length} records were sent to ${topic}/${partition}, and the answer was ${answer.join(', ') || 'empty'}`,
    { remedy: 'Nothing, when it passes. Else look into the log of the brokers.' },
  );
}
