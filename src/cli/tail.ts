import { Command } from 'commander';
import { unlessAborted } from '../async/wait';
import type { DecodedRecord } from '../avro/codec/record-decoder';
import { configOptions } from '../config/command-options';
import { loadConfig } from '../config/load-config';
import { HighwaterError } from '../errors';
import type { CommitLog, LogRecord } from '../log/commit-log';
import { createLogger } from '../logging/logger';
import { wantsColor } from '../logging/wants-color';
import { eventLine } from './lines/event-line';
import { openLog } from './log/open-log';
import { recentRecords } from './log/recent-records';
import { feedsByTopic, meantTopic, missingTopicNote } from './log/tail-topics';
import { tolerantDecoder } from './log/tolerant-decoder';
import type { CommandContext, RunCommand } from './process/command-context';
import { durationValue, opsValue, wholeNumberValue } from './process/option-values';
import { widthOf } from './terminal/terminal';

interface TailFlags {
  readonly fromBeginning?: true;
  readonly follow: boolean;
  readonly json?: true;
  readonly op?: ReadonlySet<string>;
  readonly key?: string;
  readonly limit?: number;
  readonly last?: number;
  /** ms ago */
  readonly since?: number;
  readonly [setting: string]: unknown;
}

export function tailCommand(run: RunCommand): Command {
  const command = new Command('tail')
    .argument('<topics...>', 'such as ipos, ipos.deal-status, ipos.current; the topic prefix may be left out')
    .option('--from-beginning', 'Begin with the first record instead of the next one')
    .option('-n, --last <count>', 'Begin with the last so many records', wholeNumberValue(1, 1_000_000))
    .option('--since <duration>', 'Begin with the records of the last 10m, 2h, …', durationValue)
    .option(
      '--no-follow',
      'Show what is there and end; from the beginning, unless --last or --since say else',
    )
    .option('--json', 'One JSON object a line')
    .option(
      '--op <ops>',
      'Only changes of these kinds: c created, u updated, d deleted, r read (`c,u`)',
      opsValue,
    )
    .option('--key <key>', 'Only records of this key')
    .option('--limit <count>', 'End after so many records', wholeNumberValue(1, Number.MAX_SAFE_INTEGER));
  for (const option of configOptions(['dataDir', 'topicPrefix'])) command.addOption(option);
  return command
    .addHelpText(
      'after',
      `
Examples:
  $ npx highwater tail ipos.deal-status                     status changes of IPOs as they happen
  $ npx highwater tail ipos insights.rating-changes -n 20   the last twenty of two topics, and what comes
  $ npx highwater tail ipos --since 1h --no-follow          what moved within the hour
  $ npx highwater tail insights --op c,u --from-beginning   without what the first snapshot read
  $ npx highwater tail ipos --json --no-follow --from-beginning | jq .value.after.name`,
    )
    .action((topics: string[], flags: TailFlags) => run((context) => tail(topics, flags, context)));
}

async function tail(names: readonly string[], flags: TailFlags, context: CommandContext): Promise<number> {
  const { follow, limit = Infinity } = flags;
  assertOneBeginning(flags);
  const config = loadConfig({ flags, env: context.env, cwd: context.cwd }, 'nothing');
  context.hide(config.secrets);
  const { commitLog, registry, place } = openLog(config, {
    signal: context.signal,
    logger: createLogger({ ...config.log, level: 'error', secrets: config.secrets, ...context.logging }),
  });
  try {
    const inLog = await unlessAborted(commitLog.topicNames(), context.signal);
    const topics = [...new Set(names.map((name) => meantTopic(name, config, inLog)))];
    for (const topic of topics) {
      const missing = missingTopicNote(topic, config, { follow, inLog, place });
      if (missing !== null) context.note(`highwater: ${missing}\n`);
    }
    const { decode, exitCode } = tolerantDecoder(registry, context);
    const text = flags.json === true ? jsonLine : lineForPeople(topics, feedsByTopic(config), context);
    let shown = 0;
    for await (const record of wantedRecords(commitLog, topics, flags, context.signal)) {
      const decoded = await decode(record);
      if (decoded === null) continue;
      await context.print(text(decoded));
      shown += 1;
      if (shown >= limit || context.signal.aborted) break;
    }
    return exitCode();
  } catch (error) {
    if (context.signal.aborted) return 0;
    if (!(error instanceof HighwaterError)) throw error;
    const now = 'Nothing more is shown: the command ends. This command touches no publisher.';
    throw new HighwaterError(error.code, error.message, { cause: error, now, remedy: error.remedy });
  } finally {
    await commitLog.close();
  }
}

function assertOneBeginning({ fromBeginning, last, since }: TailFlags): void {
  const given = [
    ...(fromBeginning === true ? ['--from-beginning'] : []),
    ...(last === undefined ? [] : ['--last']),
    ...(since === undefined ? [] : ['--since']),
  ];
  if (given.length < 2) return;
  throw new HighwaterError('USAGE_INVALID', `${given.join(' and ')} are different beginnings`, {
    now: 'Nothing is shown.',
    remedy: 'Give one of them.',
  });
}

async function* wantedRecords(
  log: CommitLog,
  topics: readonly string[],
  { follow, op, key, last, since, fromBeginning }: TailFlags,
  signal: AbortSignal,
): AsyncGenerator<LogRecord> {
  const sinceMs = since === undefined ? Number.NEGATIVE_INFINITY : Date.now() - since;
  const isWanted = (record: LogRecord): boolean =>
    record.timestamp >= sinceMs &&
    (op === undefined || op.has(record.headers.op ?? '')) &&
    (key === undefined || record.key === key);
  if (last !== undefined) {
    yield* recentRecords(log, topics, { count: last, follow, isWanted, signal });
    return;
  }
  const notBefore = since === undefined ? {} : { notBefore: { sinceMs } };
  // Who does not wait wants what is there.
  const isFromBeginning = fromBeginning === true || !follow || since !== undefined;
  const options = { fromBeginning: isFromBeginning, follow, signal, ...notBefore };
  for await (const record of log.read(topics, options)) if (isWanted(record)) yield record;
}

/** The contract of `--json`: these members in this order. */
function jsonLine({
  topic,
  partition,
  logOffset,
  timestamp,
  key,
  type,
  headers,
  value,
}: DecodedRecord): string {
  return `${JSON.stringify({ topic, partition, offset: logOffset, timestamp, key, type, headers, value })}\n`;
}

/** Of several topics, each line names its own. */
function lineForPeople(
  topics: readonly string[],
  feedOf: ReturnType<typeof feedsByTopic>,
  { stdout, env }: CommandContext,
): (record: DecodedRecord) => string {
  const color = wantsColor(stdout, env);
  const topicCells = topics.length < 2 ? 0 : Math.max(...topics.map((topic) => topic.length));
  return (record) =>
    `${eventLine(record, { width: widthOf(stdout), color, feedAsLabel: false, feedOf, topicCells })}\n`;
}
