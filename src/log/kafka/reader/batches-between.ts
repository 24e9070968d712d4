import type { TopicPartition } from 'kafkajs';
import { HighwaterError } from '../../../errors';
import type { Cluster } from '../connection/cluster';
import type { RecordBatch } from '../protocol/record-batch';
import { nextOffset } from './committed';
import { fetchPartitions, notWhole, READ_UNCOMMITTED } from './fetch-partitions';
import { leaderOf } from './leaderless';

/** Time for which a broker may send none of the existing records, in ms: because of a quota, or as a new leader. */
const PATIENCE_MS = 10_000;
const MAX_WAIT_MS = 100;

/**
 * All batches that are written in a partition, also of open and aborted transactions, and their markers.
 * @param from inclusive; the first batch may begin before it
 * @param to exclusive, at most the end of the partition; the last batch may end behind it
 * @throws HighwaterError LOG_FAILED, LOG_UNREADABLE; errors of kafkajs
 */
export async function* batchesBetween(
  cluster: Cluster,
  { topic, partition }: TopicPartition,
  from: bigint,
  to: bigint,
): AsyncGenerator<RecordBatch> {
  let emptySince: number | null = null;
  for (let next = from; next < to; ) {
    const place = { topic, partition, next };
    const maxWaitMs = emptySince === null ? 0 : MAX_WAIT_MS;
    const wanted = { isolationLevel: READ_UNCOMMITTED, maxWaitMs };
    const answers = await fetchPartitions(cluster, leaderOf(cluster, place), [place], wanted);
    const answer = answers.get(`${topic} ${partition}`);
    if (answer !== undefined && answer.batches.length > 0) {
      const { batches } = answer;
      for (const batch of batches) if (batch.baseOffset < to && batch.lastOffset >= from) yield batch;
      next = nextOffset({ batches }, next);
      emptySince = null;
      continue;
    }
    if (answer !== undefined && answer.recordBytes > 0) throw notWhole(place, answer);
    // Compaction has removed the rest.
    if (answer !== undefined && answer.highWatermark >= to) return;
    emptySince ??= performance.now();
    if (performance.now() - emptySince > PATIENCE_MS) {
      const what = `${topic}/${partition} could not be read beyond offset ${next} of ${to}`;
      throw new HighwaterError('LOG_FAILED', what);
    }
  }
}
