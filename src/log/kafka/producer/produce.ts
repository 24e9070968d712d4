import { type CompressionTypes, KafkaJSError, type TopicPartition } from 'kafkajs';
import {
  byTopic,
  type Cluster,
  grouped,
  knownLeader,
  type ProducerIdentity,
  partitionName,
} from '../connection/cluster';
import { brokersFailed, noteTimes } from '../connection/kafka-failure';
import { produceEncoded } from '../protocol/produce-request';
import type { EncodedRecords } from '../protocol/record-format';

/** The records that one request writes to one partition. */
export interface PartitionRecords extends TopicPartition {
  readonly records: EncodedRecords;
}

/** Where it went. */
export interface Appended extends PartitionRecords {
  /** Offset of the first record. */
  readonly baseOffset: bigint;
}

/** Sequence numbers, by which brokers recognise a record that a producer sends again. They have no gap within a partition. */
export class SequenceNumbers {
  private readonly numbers = new Map<string, number>();

  next(of: TopicPartition): number {
    return this.numbers.get(partitionName(of)) ?? 0;
  }

  /** These records were taken. */
  move(sent: PartitionRecords): void {
    // 32 bits, and none for the sign.
    const next = (this.next(sent) + sent.records.count) % 2 ** 31;
    this.numbers.set(partitionName(sent), next);
  }
}

/** By node id. @throws KafkaJSError for a partition without a leader: that passes */
export function byLeader(
  cluster: Cluster,
  sends: Iterable<PartitionRecords>,
): Map<string, PartitionRecords[]> {
  return grouped(sends, (each) => {
    const leader = knownLeader(cluster, each);
    if (leader === undefined) throw new KafkaJSError(`no leader is known of ${partitionName(each)}`);
    return leader;
  });
}

/** How long a broker may wait for its replicas, in ms. Its connection is given up sooner, and the same is sent again by another. */
const REPLICAS_MS = 30_000;

/**
 * One request to one leader.
 * @returns `heldBackMs`: time for which a quota of the broker delays the next write, in ms
 * @throws errors of kafkajs if one partition was refused; the other partitions may have accepted their records
 * @throws HighwaterError LOG_FAILED for an answer that does not belong to this request
 */
export async function produceTo(
  cluster: Cluster,
  nodeId: string,
  sends: readonly PartitionRecords[],
  identity: ProducerIdentity,
  sequences: SequenceNumbers,
  compression: CompressionTypes,
): Promise<{ readonly appended: readonly Appended[]; readonly heldBackMs: number }> {
  const broker = await cluster.findBroker({ nodeId });
  const { topics, clientSideThrottleTime: heldBackMs = 0 } = await produceEncoded(broker, {
    ...identity,
    compression,
    acks: -1,
    timeout: REPLICAS_MS,
    topicData: byTopic(sends, (each) => ({
      partition: each.partition,
      firstSequence: sequences.next(each),
      records: each.records,
    })),
  }).catch((error: unknown) => {
    throw noteTimes(error, sends);
  });
  const answers = topics.flatMap(({ topicName, partitions }) =>
    partitions.map((each) => ({ topic: topicName, ...each })),
  );
  const appended = sends.map((each) => ({
    ...each,
    baseOffset: baseOffsetOf(each, answers, answers.length === sends.length),
  }));
  return { appended, heldBackMs };
}

/** @throws HighwaterError LOG_FAILED unless the answer is that this partition took the messages, once */
function baseOffsetOf(
  { topic, partition, records }: PartitionRecords,
  answers: readonly (TopicPartition & { readonly errorCode: number; readonly baseOffset?: string })[],
  isComplete: boolean,
): bigint {
  const taken = answers.find((one) => one.topic === topic && one.partition === partition);
  const offset = taken?.errorCode === 0 && isComplete ? BigInt(taken.baseOffset ?? -1) : -1n;
  if (offset >= 0n) return offset;
  const answer = answers.map((one) => `${partitionName(one)} with code ${one.errorCode}`);
  throw brokersFailed(
    `${records.count} records were sent to ${topic}/${partition}, and the answer was ${answer.join(', ') || 'empty'}`,
  );
}
