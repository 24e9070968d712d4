import { retrying } from '../async/retrying';
import { unlessAborted } from '../async/wait';
import type { DecodedRecord } from '../avro/codec/record-decoder';
import type { Config } from '../config/load-config';
import { HighwaterError } from '../errors';
import { recordJson } from '../json/json-text';
import type { LogReader, LogRecord, ReadStart } from '../log/commit-log';
import { type OpenReader, readLog } from './log/open-log';
import { feedsByTopic, meantTopic, missingTopicNote } from './log/tail-topics';
import { tolerantDecoder } from './log/tolerant-decoder';
import { CliCommand, type Flags } from './process/cli-command';
import type { CommandContext, RunCommand } from './process/command-context';
import { durationValue, opsValue, usageError, wholeNumberValue } from './process/command-line';
import { eventLine } from './terminal/event-line';

interface TailFlags extends Flags {
  readonly fromBeginning?: true;
  readonly follow: boolean;
  readonly op?: ReadonlySet<string>;
  readonly key?: string;
  readonly limit?: number;
  readonly last?: number;
  /** ms ago */
  readonly since?: number;
}

export function tailCommand(run: RunCommand): CliCommand {
  return new CliCommand('tail')
    .argument(
      '<topics...>',
      'such as ipos, ipos.deal-status or ipos.current; the topic prefix may be left out',
    )
    .option('--from-beginning', 'Begin with the first record instead of the next one')
    .option('-n, --last <count>', 'Begin with this many of the last records', wholeNumberValue(1, 1_000_000))
    .option('--since <duration>', 'Begin with the records of the last 10m, 2h, …', durationValue)
    .option(
      '--no-follow',
      'Show the records that exist now and end; from the beginning, unless --last or --since is given',
    )
    .option('--json', 'One JSON object a line')
    .option(
      '--op <ops>',
      'Only changes of these kinds: c created, u updated, d deleted, r read (`c,u`)',
      opsValue,
    )
    .option('--key <key>', 'Only records with this key')
    .option('--limit <count>', 'End after this many records', wholeNumberValue(1, Number.MAX_SAFE_INTEGER))
    .settings(['dataDir', 'topicPrefix'])
    .notes(`
Examples:
  $ npx highwater tail ipos.deal-status                     status changes of IPOs as they happen
  $ npx highwater tail ipos insights.rating-changes -n 20   the last twenty of two topics, then new ones
  $ npx highwater tail ipos --since 1h --no-follow          changes of the last hour
  $ npx highwater tail insights --op c,u --from-beginning   without the reads of the first snapshot
  $ npx highwater tail ipos --json --no-follow --from-beginning | jq .value.after.name`)
    .action((topics: string[], flags: TailFlags) => run((context) => tail(topics, flags, context)));
}

function tail(names: readonly string[], flags: TailFlags, context: CommandContext): Promise<number> {
  const { follow, limit = Infinity } = flags;
  assertOneBeginning(flags);
  const note = (message: string): void => context.note(`highwater: ${message}\n`);
  const show = async ({ commitLog, registry, place }: OpenReader, config: Config): Promise<number> => {
    const reached = <T>(work: () => Promise<T>) => (follow ? patiently(work, context.signal, note) : work());
    const inLog = await reached(() => unlessAborted(commitLog.topicNames(), context.signal));
    const topics = [...new Set(names.map((name) => meantTopic(name, config, inLog)))];
    for (const topic of topics) {
      const missing = missingTopicNote(topic, config, { follow, inLog, place });
      if (missing !== null) note(missing);
    }
    const { decode, exitCode } = tolerantDecoder(registry, context);
    // If there are several topics, or another one than was typed, each line names its own.
    const isClear = topics.length < 2 && topics.every((topic) => names.includes(topic));
    const topicCells = isClear ? 0 : Math.max(...topics.map((topic) => topic.length));
    const shape = { color: context.color, feedAsLabel: false, feedOf: feedsByTopic(config), topicCells };
    const lineForPeople = (record: DecodedRecord) =>
      `${eventLine(record, { ...shape, width: context.width() })}\n`;
    const text = flags.json === true ? jsonLine : lineForPeople;
    let shown = 0;
    const records = () => wantedRecords(commitLog, topics, flags, context.signal);
    for await (const record of begun(records, reached)) {
      const decoded = await decode(record);
      if (decoded === null) continue;
      await context.print(text(decoded));
      shown += 1;
      if (shown >= limit || context.signal.aborted) break;
    }
    return exitCode();
  };
  return readLog(flags, 'nothing', context, show);
}

const AGAIN = { pauseMs: 1_000, longestPauseMs: 10_000, forMs: Number.POSITIVE_INFINITY };

/** Tries until the log can be reached, and says why it waits. */
async function patiently<T>(
  work: () => Promise<T>,
  signal: AbortSignal,
  note: (message: string) => void,
): Promise<T> {
  let said = '';
  const isWorthIt = (error: unknown): boolean => {
    if (!(error instanceof HighwaterError) || !error.kind.retriable) return false;
    const message = `${error.code}: ${error.message}. Trying again until it works; Ctrl-C ends.`;
    if (message !== said && !signal.aborted) note(message);
    said = message;
    return true;
  };
  return retrying(work, { signal, isWorthIt, ...AGAIN });
}

/** Begins again while that fails. An error after the first record is thrown. */
async function* begun<T>(
  records: () => AsyncGenerator<T>,
  reached: <R>(work: () => Promise<R>) => Promise<R>,
): AsyncGenerator<T> {
  const [first, rest] = await reached(async () => {
    const all = records();
    return [await all.next(), all] as const;
  });
  try {
    if (first.done !== true) yield first.value;
    yield* rest;
  } finally {
    await rest.return(undefined);
  }
}

function assertOneBeginning({ fromBeginning, last, since }: TailFlags): void {
  const all = { '--from-beginning': fromBeginning, '--last': last, '--since': since };
  const given = Object.entries(all).flatMap(([flag, value]) => (value === undefined ? [] : [flag]));
  if (given.length < 2) return;
  throw usageError(
    `${given.join(' and ')} are different beginnings`,
    'Nothing is shown.',
    'Use only one of these options.',
  );
}

async function* wantedRecords(
  log: LogReader,
  topics: readonly string[],
  { follow, op, key, last, since, fromBeginning }: TailFlags,
  signal: AbortSignal,
): AsyncGenerator<LogRecord> {
  const sinceMs = since === undefined ? Number.NEGATIVE_INFINITY : Date.now() - since;
  const isWanted = (record: LogRecord): boolean =>
    record.timestamp >= sinceMs &&
    (op === undefined || op.has(record.headers.op ?? '')) &&
    (key === undefined || record.key === key);
  if (last !== undefined) return yield* recentRecords(log, topics, last, follow, isWanted, signal);
  const notBefore = since === undefined ? {} : { notBefore: { sinceMs } };
  // Without --follow there are only the records that exist now.
  const isFromBeginning = fromBeginning === true || !follow || since !== undefined;
  const options = { fromBeginning: isFromBeginning, follow, signal, ...notBefore };
  for await (const record of log.read(topics, options)) if (isWanted(record)) yield record;
}

/** The contract of `--json`: these members in this order. */
function jsonLine(record: DecodedRecord): string {
  const { topic, partition, logOffset: offset, timestamp, key, type, headers, value } = record;
  return `${recordJson({ topic, partition, offset, timestamp, key, type, headers, value })}\n`;
}

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
  count: number,
  follow: boolean,
  isWanted: (record: LogRecord) => boolean,
  signal: AbortSignal,
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
