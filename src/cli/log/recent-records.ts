import type { LogReader, LogRecord, ReadStart } from '../../log/commit-log';

/** Positions before the end that are looked through at first, and how much further each time, before all is. */
const [FIRST_LOOK, FURTHER, LOOKS] = [2_048, 16, 3];

/**
 * The last records that are wanted, and then, with `follow`, new records. Reads only the end of the topics if that is enough. If it
 * finds too few records, it reads again from further back.
 * @param isWanted decides by data that needs no decoding
 */
export async function* recentRecords(
  log: Pick<LogReader, 'read'>,
  topics: readonly string[],
  {
    count,
    follow,
    isWanted,
    signal,
  }: {
    readonly count: number;
    readonly follow: boolean;
    readonly isWanted: (record: LogRecord) => boolean;
    readonly signal: AbortSignal;
  },
): AsyncGenerator<LogRecord> {
  const place = ({ topic, partition }: LogRecord): string => `${partition} ${topic}`;
  let reach = Math.max(FIRST_LOOK, 2 * count);
  for (let look = 0; ; look++) {
    const start: { notBefore?: ReadStart } = look < LOOKS ? { notBefore: { positionsToEnd: reach } } : {};
    const seen = new Map<string, number>();
    let latest: LogRecord[] = [];
    const options = { fromBeginning: true, follow: false, canBePartial: true, ...start, signal };
    for await (const record of log.read(topics, options)) {
      seen.set(place(record), record.logOffset);
      if (!isWanted(record)) continue;
      latest.push(record);
      // As they arrive, records are ordered only within each partition.
      if (latest.length >= 4 * count + 1_000) latest = lastOf(latest, count);
    }
    if (signal.aborted) return;
    if (latest.length < count && look < LOOKS) {
      reach *= FURTHER;
      continue;
    }
    yield* lastOf(latest, count);
    if (!follow) return;
    // From the same place on. Records that were already checked are recognised by their offsets, and new records are not lost.
    for await (const record of log.read(topics, { fromBeginning: true, follow: true, ...start, signal }))
      if (record.logOffset > (seen.get(place(record)) ?? -1) && isWanted(record)) yield record;
    return;
  }
}

/** Records with equal times keep the order in which they were read. */
function lastOf(records: readonly LogRecord[], count: number): LogRecord[] {
  return [...records].sort((a, b) => a.timestamp - b.timestamp).slice(-count);
}
