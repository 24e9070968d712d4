import { oneAhead } from '../../../async/one-ahead';
import { HighwaterError } from '../../../errors';
import type { LogRecord } from '../../commit-log';
import type { Cluster } from '../connection/cluster';
import type { Asked } from '../connection/kafka-failure';
import { persistently } from '../connection/persistently';
import { isFence } from './fence';
import { partitionOffsets } from './offsets';
import { isAtEnd, type PartitionPosition } from './partition-reader';
import { readRounds } from './reading';

const MAX_WAIT_MS = 500;

export interface RestoreOptions {
  /** By partition: the offset of the last record to be read, such as the fence. Compaction may have removed this record. */
  readonly through: ReadonlyMap<number, bigint>;
  readonly signal: AbortSignal;
  /** Restoring is given up after this long without any progress, in ms. */
  readonly stallMs: number;
  /** As `kafkaFailure` takes it. */
  readonly asked?: Asked;
}

/**
 * All committed records of a topic from the beginning through given offsets. Positions decide when it ends, not the records it meets:
 * transaction markers, compaction and records of other programs cannot hide the end from it.
 * @throws HighwaterError LOG_RESTORE_STALLED, KAFKA_*; the signal's reason
 */
export async function* readThrough(
  cluster: Cluster,
  topic: string,
  { through, stallMs, ...options }: RestoreOptions,
): AsyncGenerator<LogRecord> {
  const { signal } = options;
  const reading = { ...options, cluster, doing: `reading ${topic}`, forMs: stallMs };
  const found = await persistently(() => partitionOffsets(cluster, [topic], 'beginning'), reading);
  const positions = found.map((position): PartitionPosition => {
    // State topics are compacted.
    return { ...position, end: (through.get(position.partition) ?? -1n) + 1n, isCompacted: true };
  });
  const rounds = (stop: AbortSignal) =>
    readRounds({
      ...reading,
      signal: stop,
      maxWaitMs: MAX_WAIT_MS,
      positions: () => positions,
      isOver: (emptyMs) => emptyMs >= stallMs || positions.every(isAtEnd),
    });
  for await (const { value: records } of oneAhead(rounds, signal)) {
    for (const record of records) {
      if (isFence(record)) continue;
      signal.throwIfAborted();
      yield record;
    }
  }
  if (!positions.every(isAtEnd)) throw stalled(positions, stallMs);
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

const READ_MS = 20_000;

/**
 * The records of one partition of a compacted topic that readers are shown, through an end that they are shown. It lies
 * before the last committed record, so a broker that is well answers at once.
 * @throws HighwaterError LOG_RESTORE_STALLED when it takes too long; KAFKA_*, LOG_*; the signal's reason
 */
export async function committedRecords(
  cluster: Cluster,
  place: PartitionPosition & { readonly end: bigint },
  signal: AbortSignal,
): Promise<LogRecord[]> {
  const { topic, partition, end } = place;
  const position = { ...place, isCompacted: true };
  const records: LogRecord[] = [];
  const rounds = readRounds({
    cluster,
    doing: `reading ${topic}`,
    forMs: 0,
    signal,
    maxWaitMs: MAX_WAIT_MS,
    positions: () => [position],
    isOver: (emptyMs) => emptyMs > READ_MS || isAtEnd(position),
  });
  for await (const round of rounds) for (const record of round) records.push(record);
  if (isAtEnd(position)) return records;
  const what = `${topic}/${partition} could not be read beyond offset ${position.next} of ${end}`;
  throw new HighwaterError('LOG_RESTORE_STALLED', what);
}
