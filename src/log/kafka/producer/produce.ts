import type { CompressionTypes, TopicPartition } from 'kafkajs';
import { type Broker, byTopic, type ProducerIdentity, partitionName } from '../connection/cluster';
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

/**
 * Sequence numbers, by which brokers recognise a record that a producer sends again. By partition: the number of the record to come,
 * without a gap. Left out: 0.
 */
export type SequenceNumbers = Map<string, number>;

/** How long a broker may wait for its replicas, in ms. Its connection is given up sooner, and the same is sent again by another. */
const REPLICAS_MS = 30_000;

/**
 * One request to one leader.
 * @param sequences are moved on when all records were taken
 * @returns `heldBackMs`: time for which a quota of the broker delays the next write, in ms
 * @throws errors of kafkajs if one partition was refused; the other partitions may have accepted their records
 * @throws HighwaterError LOG_FAILED for an answer that does not belong to this request
 */
export async function produceTo(
  broker: Broker,
  sends: readonly PartitionRecords[],
  identity: ProducerIdentity,
  sequences: SequenceNumbers,
  compression: CompressionTypes,
): Promise<{ readonly appended: readonly Appended[]; readonly heldBackMs: number }> {
  const next = (of: TopicPartition) => sequences.get(partitionName(of)) ?? 0;
  const topicData = byTopic(sends, (each) => {
    return { partition: each.partition, firstSequence: next(each), records: each.records };
  });
  const request = { ...identity, compression, acks: -1, timeout: REPLICAS_MS, topicData } as const;
  const answer = await produceEncoded(broker, request).catch((error: unknown) => {
    throw noteTimes(error, sends);
  });
  const answers = answer.topics.flatMap(({ topicName, partitions }) =>
    partitions.map((each) => ({ topic: topicName, ...each })),
  );
  const appended = sends.map((each) => {
    return { ...each, baseOffset: baseOffsetOf(each, answers, answers.length === sends.length) };
  });
  // 32 bits, and none for the sign.
  for (const each of sends) sequences.set(partitionName(each), (next(each) + each.records.count) % 2 ** 31);
  return { appended, heldBackMs: answer.clientSideThrottleTime ?? 0 };
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
