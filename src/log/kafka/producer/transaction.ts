import type { CompressionTypes } from 'kafkajs';
import { HighwaterError } from '../../../errors';
import { drop } from '../connection/cluster';
import type { Appended, PartitionRecords } from '../protocol/produce-request';
import type { PartitionSends } from './partitioned-records';
import type { TransactionalProducer } from './producer';

/**
 * By topic and partition: the offset of the last record that this owner wrote there. Only for the topics that hold the
 * feed's state; other topics do not matter.
 */
export type WrittenOffsets = Map<string, Map<number, bigint>>;

/**
 * One transaction: what each partition gets, all partitions at once. Between its begin and its end nothing is awaited but
 * Kafka: an open transaction holds up every committed reader of its partitions.
 *
 * @param partitions at least one
 * @param written gets the offsets of the records, for the topics that it names, also if the commit fails, because it may have
 * succeeded nevertheless
 * @param ready is called when everything is sent and nothing committed; if it throws, nothing is committed
 * @throws errors of the producer. The transaction is then open, aborted, or committed with its answer lost, and the producer is let
 * go of. HighwaterError LOG_TOPIC_LOST, LOG_FAILED: for certain it is not committed
 */
export async function writeTransaction(
  producer: TransactionalProducer,
  partitions: readonly PartitionSends[],
  compression: CompressionTypes,
  written: WrittenOffsets,
  ready: () => Promise<void> = async () => {},
): Promise<void> {
  try {
    await producer.begin(partitions);
    for (const sends of rounds(partitions)) {
      for (const appended of await producer.send(sends, compression)) note(appended, written);
    }
    await ready();
  } catch (error) {
    // An open transaction holds up readers until its timeout, or until its id is used again, which may be never. The abort is refused
    // if another producer of the id has ended it already.
    const ended = producer.abort().catch(() => undefined);
    ended.then(() => drop(producer));
    throw error;
  }
  try {
    await producer.commit();
  } catch (error) {
    drop(producer);
    throw error;
  }
}

/** The first send of each partition, then the second send of the partitions that have one. */
function* rounds(partitions: readonly PartitionSends[]): Generator<PartitionRecords[]> {
  for (let round = 0; ; round++) {
    const sends = partitions.flatMap(({ topic, partition, sends: own }) => {
      const records = own[round];
      return records === undefined ? [] : [{ topic, partition, records }];
    });
    if (sends.length === 0) return;
    yield sends;
  }
}

/** @throws HighwaterError LOG_TOPIC_LOST: offsets of one log only grow */
function note({ topic, partition, records, baseOffset }: Appended, written: WrittenOffsets): void {
  const offsets = written.get(topic);
  const before = offsets?.get(partition);
  if (before !== undefined && baseOffset <= before) {
    const what = `Partition ${partition} of topic ${topic} stands at offset ${baseOffset}, although this publisher wrote there up to offset ${before}: the topic was created again, or the brokers lost records.`;
    throw new HighwaterError('LOG_TOPIC_LOST', what);
  }
  offsets?.set(partition, baseOffset + BigInt(records.count) - 1n);
}
