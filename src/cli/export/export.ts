import { tmpdir } from 'node:os';
import path from 'node:path';
import { Option } from 'commander';
import { type PublishedTopic, topicsOf } from '../../avro/published-topics';
import type { Config } from '../../config/load-config';
import { HighwaterError } from '../../errors';
import { feedDefinitions } from '../../feeds';
import { counted } from '../../format/counted';
import { durationText } from '../../format/durations';
import type { LogRecord } from '../../log/commit-log';
import { feedTopics } from '../../log/topics';
import { type OpenReader, readLog } from '../log/open-log';
import { feedsByTopic, meantTopic, missingTopicNote } from '../log/tail-topics';
import { CliCommand, type Flags } from '../process/cli-command';
import type { CommandContext, RunCommand } from '../process/command-context';
import { pastMomentValue, usageError, wholeNumberValue } from '../process/command-line';
import { progressScreen } from '../progress/screen';
import { tableAsOf } from './as-of';
import { changes, type Exported, exportedType } from './changes';
import { type Format, formats, rowWriter } from './formats';
import { fileOutput, type Output } from './output';

interface ExportFlags extends Flags {
  readonly format?: Format;
  /** Moments, ms. */
  readonly since?: number;
  readonly until?: number;
  readonly asOf?: number;
  /** Digits after the point; true: as many as usual. */
  readonly decimals?: number | true;
  readonly output?: string;
  readonly force?: true;
}

/** Digits of a DECIMAL after its point, unless the command names another number. */
const USUAL_SCALE = 9;

export function exportCommand(run: RunCommand): CliCommand {
  return new CliCommand('export')
    .argument('<topic>', 'a feed, or a topic such as ipos.deal-status; the topic prefix may be left out')
    .addOption(
      new Option(
        '--format <format>',
        'How rows are written; by the name of the file if left out, else ndjson',
      ).choices(formats),
    )
    .option('--since <time>', 'Only events observed at this time or later', pastMomentValue)
    .option('--until <time>', 'Only events observed before this time', pastMomentValue)
    .option(
      '--as-of <time>',
      'The records of the feed as they were at this time, one row each, instead of events',
      pastMomentValue,
    )
    .option(
      '--decimals [digits]',
      `Parquet: numbers that the vendor writes as text become DECIMAL, with so many digits after the point (${USUAL_SCALE})`,
      wholeNumberValue(0, 38),
    )
    .option('-o, --output <file>', 'The file, which has its name only once it is whole; else stdout')
    .option('--force', 'Replace a file of that name')
    .settings(['dataDir', 'topicPrefix'])
    .notes(`
A time is 2026-03-31 (its midnight), 2026-03-31T09:30:00Z, 2h (ago) or now.

Examples:
  $ npx highwater export ipos -o ipos.parquet                                 every change
  $ npx highwater export ipos.deal-status --since 2026-01-01 -o moves.csv
  $ npx highwater export ipos --as-of 2026-03-31T16:00:00Z -o then.parquet    the table as it was
  $ npx highwater export ipos --as-of now | jq .deal_status`)
    .action((topic: string, flags: ExportFlags) => run((context) => exportTopic(topic, flags, context)));
}

const NOW = 'Nothing was exported, and no file was made. This command touches no publisher.';
const NOW_IN_THE_MIDDLE =
  'Nothing more is written, and what came so far is not whole. This command touches no publisher.';

/** Other endings, such as a date, name no format. */
const otherFormats = 'gz zip zst bz2 xz tsv xls xlsx avro orc pq sql xml'.split(' ');

function exportTopic(name: string, flags: ExportFlags, context: CommandContext): Promise<number> {
  const { output } = flags;
  const file = output === undefined ? null : path.resolve(context.cwd, output);
  const ending = file === null ? '' : path.extname(file).slice(1).toLowerCase();
  if (flags.format === undefined && otherFormats.includes(ending))
    throw usageError(
      `the ending .${ending} names a format that is not written`,
      NOW,
      `Say one by --format, or end the name in one: ${formats.join(', ')}.`,
    );
  const format = flags.format ?? formats.find((one) => one === ending) ?? 'ndjson';
  assertFitting(flags, format, context);
  let hasBegun = false;
  const work = async (open: OpenReader, config: Config): Promise<number> => {
    const exported = await wanted(name, flags, file, { open, config, context });
    const stdout: Output = {
      write(chunk) {
        hasBegun = true;
        return context.print(chunk);
      },
      finish: async () => undefined,
      discard: async () => undefined,
    };
    const target = file === null ? stdout : await fileOutput(file, flags.force === true);
    const began = performance.now();
    const scale = flags.decimals === true ? USUAL_SCALE : (flags.decimals ?? null);
    const screen = progressScreen(context, file !== null || context.stdout.isTTY !== true);
    let count = 0;
    const show = () =>
      screen.set('export', (nowMs, sinceMs) => ({
        label: name,
        work: 'export',
        share: null,
        facts: [
          // A table as of a moment has its first row when the whole log is read.
          count === 0 ? 'the log is read' : counted(count, 'row'),
          durationText(nowMs - sinceMs),
        ],
      }));
    show();
    try {
      const writer = await rowWriter(format, exported.columns, target, scale);
      for await (const { values, of } of exported.rows()) {
        await writer.add(values, of.value?.length ?? 0).catch((error: unknown) => {
          throw atRecord(error, of);
        });
        count += 1;
        if (count % 1_000 === 0) show();
      }
      context.signal.throwIfAborted();
      await writer.end();
      await target.finish();
    } finally {
      screen.end();
      await target.discard();
    }
    const took = durationText(performance.now() - began);
    context.note(`highwater: ${file ?? name}: ${counted(count, 'row')}${exported.said()}, in ${took}.\n`);
    return exported.exitCode();
  };
  return readLog(flags, 'nothing', context, work, () => (hasBegun ? NOW_IN_THE_MIDDLE : NOW));
}

/** @throws HighwaterError USAGE_INVALID */
function assertFitting(flags: ExportFlags, format: Format, { stdout }: CommandContext): void {
  const { since, until, asOf, decimals, output } = flags;
  const refuse = (what: string, remedy: string): never => {
    throw usageError(what, NOW, remedy);
  };
  if (asOf !== undefined && (since !== undefined || until !== undefined))
    refuse('--as-of is one moment, and --since and --until are a range of events', 'Use one or the other.');
  if (asOf !== undefined && asOf > Date.now())
    refuse('--as-of lies in the future', 'Name a past time, or now.');
  if (since !== undefined && until !== undefined && since >= until)
    refuse('--since is not before --until', 'Name the earlier time with --since.');
  if (decimals !== undefined && format !== 'parquet')
    refuse(
      `--decimals is not for ${format}, which has no such type`,
      'Leave it out, or use --format parquet.',
    );
  if (format === 'parquet' && output === undefined && stdout.isTTY === true)
    refuse('a terminal cannot show Parquet', 'Name a file (--output), or use another --format.');
}

async function wanted(
  name: string,
  { since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY, asOf }: ExportFlags,
  file: string | null,
  { open, config, context }: { open: OpenReader; config: Config; context: CommandContext },
): Promise<Exported> {
  const { commitLog: log, registry, place } = open;
  const inLog = await log.topicNames();
  const named = [...config.feeds, ...feedDefinitions].find((feed) => feed.name === name);
  const topic = meantTopic(named?.topic ?? name, config, inLog);
  // An export does not wait: without the topic this throws.
  missingTopicNote(topic, config, { follow: false, inLog, place });
  const { feed, published } = typesIn(topic, config);
  const types = await Promise.all(published.map((one) => exportedType(one, registry)));
  if (asOf === undefined) {
    const range = { sinceMs: since, untilMs: until };
    return changes(topic, types, range, { log, registry, context });
  }
  const ofChanges = types.find(({ kind }) => kind === 'changes');
  if (ofChanges === undefined)
    throw usageError(`--as-of needs a feed, and ${topic} has events`, NOW, `Name the feed: ${feed.name}.`);
  return tableAsOf(asOf, {
    log,
    registry,
    topics: feedTopics(feed, config.topicPrefix),
    changes: ofChanges,
    signal: context.signal,
    folder: file === null ? tmpdir() : path.dirname(file),
  });
}

/** The types of events in a topic. @throws HighwaterError USAGE_INVALID */
function typesIn(
  topic: string,
  config: Config,
): Pick<PublishedTopic, 'feed'> & { published: PublishedTopic[] } {
  const feed = feedsByTopic(config)(topic);
  const all = feed === null ? [] : topicsOf(feed, feedTopics(feed, config.topicPrefix));
  const published = all.filter(
    ({ kind, spec }) => (kind === 'changes' || kind === 'transition') && spec.name === topic,
  );
  if (feed !== null && published.length > 0) return { feed, published };
  const remedy = 'Name a feed, or a topic of events. The records of a feed as they are now: --as-of now.';
  throw usageError(`${topic} is no topic of events of a known feed`, NOW, remedy);
}

/** A value that cannot be written, with the place of its record. */
function atRecord(error: unknown, { topic, partition, logOffset, key }: Partial<LogRecord>): unknown {
  if (!(error instanceof HighwaterError) || error.code !== 'EXPORT_VALUE') return error;
  const where =
    partition === undefined ? '' : `partition ${partition} of topic ${topic}, offset ${logOffset}, `;
  return new HighwaterError(error.code, `${where}key ${key}: ${error.message}`, { cause: error });
}
