import { pause, unlessAborted } from '../async/wait';
import type { Config } from '../config/load-config';
import { type DeliveryStatus, deliveryStatus } from '../delivery/status';
import { errorKinds, HighwaterError } from '../errors';
import { type FeedProblem, type FeedStatus, feedStatus } from '../feed-status/feed-status';
import { latestReasons, storedDeadLetters, storedOffsets } from '../feed-status/stored';
import { counted } from '../format/counted';
import { agoText } from '../format/durations';
import { harmless } from '../format/short-text';
import { createLogger } from '../logging/logger';
import { describeProgress } from '../pipeline/rounds/backfill';
import { requestsForAll } from '../pipeline/scan/pages/paging';
import { fullDisk } from './doctor/embedded';
import { type OpenReader, readLog } from './log/open-log';
import {
  explained,
  isUnexplained,
  type PublisherView,
  publisherLines,
  publisherView,
} from './process/ask-publisher';
import { CliCommand, type Flags } from './process/cli-command';
import type { CommandContext, RunCommand } from './process/command-context';
import { durationValue } from './process/command-line';
import { type Column, fittedTable, painted, type Span, type Style, span, wrapped } from './terminal/text';

/** A feed needs an operator, or is late. */
const NOT_WELL = 3;
const USUAL_WATCH_MS = 2_000;

interface StatusFlags extends Flags {
  /** ms; true: the usual time. */
  readonly watch?: number | true;
}

export function statusCommand(run: RunCommand): CliCommand {
  return new CliCommand('status')
    .option('--json', 'One JSON object a line, one line for each feed and each delivery')
    .option(
      '-w, --watch [duration]',
      'Show the status again at this interval, until Ctrl-C (2s)',
      durationValue,
    )
    .settings(['feeds', 'dataDir', 'topicPrefix', 'appId', 'pollInterval'])
    .notes(`
LAST SCAN: when the API was last read to its end. MARK: how old the newest record of that scan is (\`updated\`). API: shown
if the feeds read different APIs. ✓ up to date, ↻ being read, ! behind, ‖ paused, ✗ needs an operator,
? has never shown a row. The lines below the table say what is wrong and what to do.

The exit code is 3 when a feed is parked by an error, or behind: its last complete scan is older than three poll intervals of
its publisher. A paused feed is not behind. --poll-interval is used only for a feed whose publisher has not stored its own.

Examples:
  $ npx highwater status
  $ npx highwater status -w                 again every 2 s
  $ npx highwater status --json | jq -r 'select(.behind) | .feed'`)
    .action((flags: StatusFlags) => run((context) => showStatus(flags, context)));
}

function showStatus(flags: StatusFlags, context: CommandContext): Promise<number> {
  const show = async (open: OpenReader, config: Config): Promise<number> => {
    /** What the log says of each feed and, where it does not explain how a feed stands, the publisher on this machine. */
    const read = async (): Promise<Explained> => {
      const stored = await readStatus(config, open, context.signal);
      const isOpen = stored.some(isUnexplained);
      const view = isOpen ? await publisherView(flags, context) : null;
      const full = isOpen && config.kafka === null ? fullDisk(config.dataDir) : null;
      const deliveries = await readDeliveries(config, context);
      return { all: stored.map((one) => explained(one, view, full)), view, deliveries };
    };
    if (flags.watch !== undefined) return watch(read, flags, context);
    const found = await read();
    const { all, view } = found;
    if (flags.json === true) await context.print(jsonLines(found));
    else {
      const lines = statusLines(found, { nowMs: Date.now(), width: context.width() });
      await context.print(textOf(lines, context) + spaceLine(all) + publisherText(all, view));
    }
    return all.some(({ behind, condition }) => behind || condition === 'parked') ? NOT_WELL : 0;
  };
  return readLog(flags, 'feeds', context, show).catch(async (error: unknown) => {
    const view = flags.json === true ? null : await publisherView(flags, context);
    if (view !== null) context.note(`The log cannot be read. ${publisherLines(view)}`);
    throw error;
  });
}

interface Explained {
  readonly all: readonly StatusLine[];
  /** Null: it was not asked, or did not answer. */
  readonly view: PublisherView | null;
  readonly deliveries: readonly DeliveryStatus[];
}

/**
 * Shows the status repeatedly until the signal. If the log cannot be read, the error is shown and the log is asked again.
 * @returns exit code
 */
async function watch(
  read: () => Promise<Explained>,
  { watch: given, json }: StatusFlags,
  context: CommandContext,
): Promise<number> {
  const { signal } = context;
  const everyMs = typeof given === 'number' ? given : USUAL_WATCH_MS;
  for (; !signal.aborted; await pause(everyMs, signal)) {
    try {
      const found = await read();
      const now = new Date();
      const lines = statusLines(found, { nowMs: now.getTime(), width: context.width() });
      const text = json ? jsonLines(found) : `${now.toISOString()}\n${textOf(lines, context)}\n`;
      if (!signal.aborted) await context.print(text);
    } catch (error) {
      if (!signal.aborted && !(error instanceof HighwaterError)) throw error;
      if (!signal.aborted) context.report(error as HighwaterError);
    }
  }
  return 0;
}

const jsonLines = ({ all, deliveries }: Explained) =>
  [...all, ...deliveries].map((one) => `${JSON.stringify(one)}\n`).join('');

function textOf(lines: readonly (readonly Span[])[], { color, width }: CommandContext): string {
  return lines.map((line) => `${painted(line, width(), color)}\n`).join('');
}

const UNEXPLAINED = ['NO_OWNER', 'OWNER_UNKNOWN'];

/** The publisher on this machine may be one of another log. */
function publisherText(all: readonly StatusLine[], view: PublisherView | null): string {
  const isOpen = all.some(({ problems }) => problems.some(({ code }) => UNEXPLAINED.includes(code)));
  return view !== null && isOpen ? publisherLines(view) : '';
}

function spaceLine(all: readonly StatusLine[]): string {
  const { log_bytes: total = null, log_free_bytes: free = null } = all[0] ?? {};
  if (total === null) return '';
  // Retention leaves empty pages in the file. The free room on the disk is not meant.
  const reused =
    free === null || free < total / 100 ? '' : `; ${megabytes(free)} of it are empty and filled first`;
  return `The log takes ${megabytes(total)} on the disk${reused}.\n`;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toLocaleString('en-US', { maximumFractionDigits: 1 })} MB`;
}

/** One line of `status --json`: these members follow those of every `FeedStatus`, in this order. */
interface StatusLine extends FeedStatus {
  readonly dead_letters: number;
  /** Base address of the API that this command's settings name for the feed; null: they name none. */
  readonly api: string | null;
  /** Size of the embedded log's file, which all feeds share; null on Kafka. */
  readonly log_bytes: number | null;
  /** Part of `log_bytes` that is free for new records. */
  readonly log_free_bytes: number | null;
  /** The least number of requests of a poll that reads everything, because there is no filter by `updated`; else null. */
  readonly requests_per_poll: number | null;
}

/**
 * Reads the status of each feed from the log.
 * @throws HighwaterError LOG_MISSING and errors of the log, the registry and the group of publishers; the signal's reason
 */
export async function readStatus(
  config: Config,
  open: OpenReader,
  signal: AbortSignal,
): Promise<readonly StatusLine[]> {
  const names = await unlessAborted(open.commitLog.topicNames(), signal);
  if (names === null) throw new HighwaterError('LOG_MISSING', `there is no log in ${open.place} yet`);
  const inLog = new Set(names);
  const [offsets, letters, owners] = await Promise.all([
    storedOffsets(config, inLog, open, signal),
    storedDeadLetters(config, inLog, open, signal),
    open.commitLog.owners(
      config.feeds.map(({ name }) => name),
      signal,
    ),
  ]);
  signal.throwIfAborted();
  const { total = null, free = null } = open.space?.() ?? {};
  const now = Date.now();
  const reasons = await latestReasons(letters, open.registry);
  return config.feeds.map((feed) => {
    const offset = offsets.get(feed.name) ?? null;
    const dead_letters = letters?.get(feed.name)?.count ?? 0;
    const knowledge = {
      feed,
      offset,
      owner: owners.get(feed.name) ?? null,
      live: null,
      deadLetters: dead_letters,
      deadLetterReason: reasons.get(feed.name) ?? null,
      backfillDone: offset === null ? null : (describeProgress(offset, now)?.done ?? null),
    };
    const api = feed.apiUrl ?? config.apiUrl;
    const requests_per_poll = offset && requestsForAll(feed, offset);
    const space = { log_bytes: total, log_free_bytes: free };
    return { ...feedStatus(knowledge, now), dead_letters, api, ...space, requests_per_poll };
  });
}

/** The log of consumers is opened only for settings with deliveries. */
async function readDeliveries(
  config: Config,
  { logging, signal, report }: Pick<CommandContext, 'logging' | 'signal' | 'report'>,
): Promise<readonly DeliveryStatus[]> {
  if (config.deliveries.length === 0) return [];
  const { openConfigured }: typeof import('../consumer/open-log') = require('../consumer/open-log');
  const logger = createLogger({ ...config.log, level: 'error', secrets: config.secrets, ...logging });
  const opened = openConfigured(config, logger);
  return deliveryStatus(config.deliveries, opened, signal)
    .catch((error: unknown) => {
      // The feeds are shown all the same.
      if (signal.aborted || !(error instanceof HighwaterError)) throw error;
      report(error);
      return [];
    })
    .finally(() => opened.log.close());
}

const [LETTERS, API] = [5, 6];
const columns: readonly Column[] = [
  { head: 'FEED', least: 8 },
  { head: 'STATE', least: 14 },
  { head: 'LAST SCAN', leaves: 1 },
  { head: 'RECORDS', alignRight: true, leaves: 3 },
  { head: 'MARK', leaves: 5 },
  { head: 'DEAD LETTERS', alignRight: true, leaves: 4 },
  { head: 'API', least: 12, leaves: 6 },
  { head: 'OWNER', least: 9, leaves: 2 },
];

/** One line per feed and per delivery, then the problems with their remedies, and last the number of healthy feeds. */
export function statusLines(
  { all, deliveries = [] }: Pick<Explained, 'all'> & Partial<Explained>,
  { nowMs, width }: { readonly nowMs: number; readonly width: number },
): Span[][] {
  const hasLetters = all.some((one) => one.dead_letters > 0);
  const hasSeveralApis = new Set(all.map(({ api }) => api)).size > 1;
  const isShown = (_: unknown, i: number): boolean =>
    i === LETTERS ? hasLetters : i === API ? hasSeveralApis : true;
  const rows = all.map((status) => cells(status, nowMs).filter(isShown));
  const problems = statusProblems(all).flatMap((problem) => problemLines(problem, width));
  return [
    ...fittedTable(columns.filter(isShown), rows, width),
    [],
    ...deliveryLines(deliveries, width),
    ...(problems.length === 0 ? [] : [...problems, []]),
    ...all.flatMap((status) => costLines(status, width)),
    ...summaryLines(all, width),
  ];
}

const deliveryColumns: readonly Column[] = [
  { head: 'DELIVERY', least: 8 },
  { head: 'LAG', alignRight: true },
  { head: 'DEAD LETTERS', alignRight: true },
  { head: 'WAITS FOR', least: 9 },
];

/** A table of the deliveries and an empty line; nothing without deliveries. */
function deliveryLines(deliveries: readonly DeliveryStatus[], width: number): Span[][] {
  if (deliveries.length === 0) return [];
  const rows = deliveries.map(({ delivery, lag, dead_letters: letters, waits_for: why }) => [
    span(harmless(delivery), 'bold'),
    lag === null ? span('never ran', 'yellow') : span(lag.toLocaleString('en-US')),
    span(letters.toLocaleString('en-US'), letters > 0 ? 'yellow' : 'dim'),
    why === null ? span('-', 'dim') : span(harmless(why), 'red'),
  ]);
  return [...fittedTable(deliveryColumns, rows, width), []];
}

function cells(status: StatusLine, nowMs: number): Span[] {
  const { feed, owner, high_water_mark: mark, last_complete_scan_ms: scanned, records, behind } = status;
  const [state, style] = stateOf(status);
  return [
    span(harmless(feed), 'bold'),
    span(state, style),
    scanned === null ? span('never', 'dim') : span(agoText(nowMs - scanned), behind ? 'yellow' : 'plain'),
    span(records.toLocaleString('en-US')),
    mark === null || mark === 0 ? span('-', 'dim') : span(agoText(nowMs - mark * 1_000)),
    span(status.dead_letters.toLocaleString('en-US'), status.dead_letters > 0 ? 'yellow' : 'dim'),
    status.api === null ? span('not set', 'dim') : span(harmless(status.api.replace(/^https?:\/\//, ''))),
    owner === null ? span('nobody', 'red') : span(harmless(owner)),
  ];
}

/** Without colour, the mark shows it. */
function stateOf({ condition, being_read, backfill_done: backfill, problems }: StatusLine): [string, Style] {
  if (condition === 'parked') return ['✗ parked', 'red'];
  if (condition === 'paused') return ['‖ paused', 'yellow'];
  if (condition === 'no-owner') return ['✗ no publisher', 'red'];
  if (being_read) return ['↻ snapshot', 'cyan'];
  if (condition === 'behind') return ['! behind', 'yellow'];
  if (problems.some(({ code }) => code === 'NO_ROWS')) return ['? no rows yet', 'yellow'];
  return backfill === null
    ? ['✓ up to date', 'green']
    : [`↻ backfill ${Math.floor(backfill * 100)} %`, 'cyan'];
}

/** `✗ ipos: what is wrong`, and below it `do: what to do`. */
function problemLines({ mark, style, texts, remedy }: Problem, width: number): Span[][] {
  const said = texts.flatMap((text) =>
    wrapped(harmless(text), width - 2).map((line, i) => [
      span(i === 0 ? `${mark} ` : '  ', style),
      span(line, style),
    ]),
  );
  const advice = wrapped(harmless(remedy), width - 6).map((line, i) => [
    span(i === 0 ? '  do: ' : '      ', 'dim'),
    span(line),
  ]);
  return [...said, ...advice];
}

function costLines({ feed, records, requests_per_poll: requests }: StatusLine, width: number): Span[][] {
  if (requests === null) return [];
  const text = `${harmless(feed)} has no filter by time: each poll reads all ${counted(records, 'record')}, in at least ${counted(requests, 'request')}.`;
  return styledLines(text, width, 'dim');
}

function styledLines(text: string, width: number, style: Style): Span[][] {
  return wrapped(text, width).map((part) => [span(part, style)]);
}

function summaryLines(all: readonly StatusLine[], width: number): Span[][] {
  const styles = all.map((status) => stateOf(status)[1]);
  const fine = styles.filter((style) => style === 'green').length;
  const busy = styles.filter((style) => style === 'cyan').length;
  const { length } = all;
  if (fine === length) {
    const text = length === 1 ? 'The feed is up to date.' : `All ${length} feeds are up to date.`;
    return styledLines(text, width, 'green');
  }
  const read = busy === 0 ? '' : `, ${busy} being read`;
  const text = `${fine} of ${length} ${length === 1 ? 'feed' : 'feeds'} up to date${read}.`;
  return styledLines(text, width, fine + busy === length ? 'cyan' : 'yellow');
}

interface Problem {
  readonly mark: string;
  readonly style: Style;
  /** One for each feed that has it. */
  readonly texts: readonly string[];
  readonly remedy: string;
}

/** The problems of the feeds and what to do about them, the worst first. Feeds that need the same remedy share one problem. */
function statusProblems(all: readonly StatusLine[]): readonly Problem[] {
  const found = [...withoutPublisher(all), ...all.flatMap(ofFeed)];
  const byRemedy = new Map<string, Problem>();
  for (const problem of found) {
    const first = byRemedy.get(problem.remedy) ?? { ...problem, texts: [] };
    byRemedy.set(problem.remedy, { ...first, texts: [...first.texts, ...problem.texts] });
  }
  const rank = ({ style }: Problem): number => (style === 'red' ? 0 : 1);
  return [...byRemedy.values()].sort((a, b) => rank(a) - rank(b));
}

/** Feeds that nobody publishes, in one text. */
function withoutPublisher(all: readonly StatusLine[]): Problem[] {
  const left = all.flatMap(({ feed, problems }) =>
    problems.flatMap((problem) => (problem.code === 'NO_OWNER' ? [{ feed, problem }] : [])),
  );
  if (left.length === 0) return [];
  const text = all.every(({ owner }) => owner === null)
    ? 'No publisher runs on this log.'
    : `No publisher has ${left.map(({ feed }) => feed).join(', ')}, though others run.`;
  return [{ mark: '✗', style: 'red', texts: [text], remedy: left[0]!.problem.remedy }];
}

function ofFeed({ feed, problems }: StatusLine): Problem[] {
  return problems
    .filter(({ code }) => code !== 'NO_OWNER')
    .map((problem) => {
      const { code, severity, what, remedy } = problem;
      const [mark, style] = code === 'PAUSED' ? (['‖', 'yellow'] as const) : marks[severity];
      if (!Object.hasOwn(errorKinds, code)) return { mark, style, texts: [`${feed}: ${what}`], remedy };
      const text = [feed, code, what].filter((part) => part !== '').join(': ');
      return { mark, style, texts: [text], remedy: `${remedy} (\`highwater explain ${code}\`)` };
    });
}

const marks: Readonly<Record<FeedProblem['severity'], readonly [string, Style]>> = {
  bad: ['✗', 'red'],
  warning: ['!', 'yellow'],
  note: ['!', 'yellow'],
};
