import { HighwaterError } from '../../../errors';
import type { LogRecord } from '../../commit-log';
import type { Cluster } from '../connection/cluster';
import { persistently } from '../connection/persistently';
import { isFence } from './fence';
import { fetchRound, isAtEnd, type PartitionPosition, partitionOffsets } from './partition-reader';

const MAX_WAIT_MS = 500;

export interface RestoreOptions {
  /** By partition: the offset of the last record to be read, such as the fence. It may be gone by then, compacted away. */
  readonly through: ReadonlyMap<number, bigint>;
  readonly signal: AbortSignal;
  /** Without any progress for so long it is given up, in ms. */
  readonly stallMs: number;
}

/**
 * All committed records of a topic from the beginning through given offsets. It ends by positions, not by what it meets:
 * neither transaction markers, nor compaction, nor other programs' records can hide the end from it.
 * @throws HighwaterError LOG_RESTORE_STALLED, KAFKA_*; the signal's reason
 */
export async function* readThrough(
  cluster: Cluster,
  topic: string,
  { through, signal, stallMs }: RestoreOptions,
): AsyncGenerator<LogRecord> {
  signal.throwIfAborted();
  const positions = await begin(cluster, topic, through, stallMs, signal);
  const round = () => nextRound(cluster, positions, stallMs, signal);
  let fetching = round();
  for (;;) {
    const records = await fetching;
    const done = positions.every(isAtEnd);
    if (!done) {
      // The next answer is on its way while the caller works on this one.
      fetching = round();
      fetching.catch(() => undefined);
    }
    for (const record of records) {
      if (isFence(record)) continue;
      signal.throwIfAborted();
      yield record;
    }
    if (done) return;
  }
}

async function begin(
  cluster: Cluster,
  topic: string,
  through: ReadonlyMap<number, bigint>,
  stallMs: number,
  signal: AbortSignal,
): Promise<PartitionPosition[]> {
  const positions = await persistently(async () => partitionOffsets(cluster, [topic], 'beginning'), {
    cluster,
    doing: `reading ${topic}`,
    forMs: stallMs,
    signal,
  });
  // State topics are compacted.
  return positions.map((position) => {
    return { ...position, end: (through.get(position.partition) ?? -1n) + 1n, isCompacted: true };
  });
}

/** One round that brings progress, however many it takes. */
async function nextRound(
  cluster: Cluster,
  positions: readonly PartitionPosition[],
  stallMs: number,
  signal: AbortSignal,
): Promise<Iterable<LogRecord>> {
  const began = performance.now();
  const topic = positions[0]?.topic;
  const sum = () => positions.reduce((total, { next }) => total + next, 0n);
  const before = sum();
  while (!positions.every(isAtEnd)) {
    const records = await persistently(() => fetchRound(cluster, positions, MAX_WAIT_MS), {
      cluster,
      doing: `reading ${topic}`,
      forMs: stallMs,
      signal,
    });
    if (sum() > before) return records;
    if (performance.now() - began >= stallMs) throw stalled(positions, stallMs);
  }
  return [];
}

function stalled(positions: readonly PartitionPosition[], stallMs: number): HighwaterError {
  const where = positions
    .filter((position) => !isAtEnd(position))
    .map(({ topic, partition, next, end }) => `${topic}/${partition} stands at offset ${next} of ${end}`);
  return new HighwaterError(
    'LOG_RESTORE_STALLED',
    `Nothing could be read for ${stallMs / 1000} s although there is more: ${where.join('; ')}. A transaction of another program is open there.`,
  );
}
