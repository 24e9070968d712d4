import type { CompressionTypes, Producer, RecordMetadata, TopicMessages } from 'kafkajs';
import { HighwaterError } from '../../errors';

/** By topic and partition: the offset of the last record that this owner wrote there. */
export type WrittenOffsets = Map<string, Map<number, bigint>>;

/**
 * One transaction of all sends, one after the other. Between its begin and its end nothing is awaited but Kafka: an open
 * transaction holds up every committed reader of its partitions.
 * @param written is filled with where the records went, also when the commit fails: it may have succeeded all the same
 * @throws what kafkajs throws. The transaction is then open, aborted, or committed with its answer lost, and the producer of
 * no more use
 */
export async function writeTransaction(
  producer: Producer,
  sends: readonly TopicMessages[][],
  compression: CompressionTypes,
  written: WrittenOffsets,
): Promise<void> {
  const transaction = await producer.transaction();
  for (const topicMessages of sends) {
    const counts = countsOf(topicMessages);
    const metadata = await transaction.sendBatch({ topicMessages, compression, acks: -1 });
    assertEachOnce(counts, metadata);
    for (const { topicName, partition, baseOffset } of metadata) {
      const count = counts.get(topicName)!.get(partition)!;
      const last = BigInt(baseOffset!) + BigInt(count) - 1n;
      const partitions = written.get(topicName) ?? new Map<number, bigint>();
      written.set(topicName, partitions.set(partition, last));
    }
  }
  await transaction.commit();
}

function countsOf(topicMessages: readonly TopicMessages[]): Map<string, Map<number, number>> {
  return new Map(
    topicMessages.map(({ topic, messages }) => {
      const counts = new Map<number, number>();
      for (const { partition } of messages) counts.set(partition!, (counts.get(partition!) ?? 0) + 1);
      return [topic, counts];
    }),
  );
}

/**
 * When leaders change during a send over several brokers, kafkajs may leave a partition's batch out or send it twice
 * (tulios/kafkajs#1303) and reports success. What it returns tells: every partition must be there once, without an error.
 */
function assertEachOnce(
  counts: ReadonlyMap<string, ReadonlyMap<number, number>>,
  metadata: readonly RecordMetadata[],
): void {
  const seen = new Set<string>();
  for (const { topicName, partition, errorCode, baseOffset } of metadata) {
    const place = `${topicName}/${partition}`;
    const isExpected = counts.get(topicName)?.has(partition) === true;
    if (
      !isExpected ||
      seen.has(place) ||
      errorCode !== 0 ||
      baseOffset === undefined ||
      baseOffset === '-1'
    ) {
      throw incomplete(`${place} came back ${seen.has(place) ? 'twice' : `with error ${errorCode}`}`);
    }
    seen.add(place);
  }
  for (const [topic, partitions] of counts) {
    for (const partition of partitions.keys()) {
      if (!seen.has(`${topic}/${partition}`)) throw incomplete(`${topic}/${partition} did not come back`);
    }
  }
}

function incomplete(what: string): HighwaterError {
  return new HighwaterError('LOG_FAILED', `Kafka did not take every batch of a transaction once: ${what}.`, {
    remedy: 'Nothing, when it passes: a leader moved meanwhile. Else look into the log of the brokers.',
  });
}
