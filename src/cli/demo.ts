import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type ConfigWithApi, loadConfig } from '../config/load-config';
import { HighwaterError } from '../errors';
import { feedDefinitions } from '../feeds';
import { feedTopics } from '../log/topics';
import { createLogger } from '../logging/logger';
import type { PageReport } from '../pipeline/poll';
import { instanceName, runWorker } from '../runtime/worker';
import { type Simulator, startSimulator } from '../simulator/simulator';
import { type OpenLog, openLog } from './log/open-log';
import { CliCommand } from './process/cli-command';
import type { CommandContext, RunCommand } from './process/command-context';
import { durationValue, wholeNumberValue } from './process/command-line';
import { serveAdmin } from './run';
import { eventLines } from './terminal/event-line';
import { painter } from './terminal/text';

interface DemoFlags {
  readonly dataDir?: string;
  readonly seed: number;
  readonly interval: number;
  readonly httpPort: number;
  readonly open?: true;
  readonly for?: number;
}

/** Enough for a visible snapshot, few enough for the first event within a second or two. */
const records = { insights: 1_200, analysts: 400, ipos: 800 };
const pageSize = 200;

export function demoCommand(run: RunCommand): CliCommand {
  return new CliCommand('demo')
    .option(
      '--data-dir <folder>',
      'Keep the log in this folder (default: a temporary folder, removed at the end)',
    )
    .option('--seed <number>', 'Another seed makes another market', wholeNumberValue(0, 2 ** 32 - 1), 1)
    .option(
      '--interval <duration>',
      'Time between two events of the market (default 2s)',
      durationValue,
      2_000,
    )
    .option(
      '--http-port <port>',
      'Port of the dashboard (default: any free one)',
      wholeNumberValue(0, 65_535),
      0,
    )
    .option('--open', 'Open the dashboard in the browser')
    .option('--for <duration>', 'End after this time', durationValue)
    .notes(`
Examples:
  $ npx highwater demo
  $ npx highwater demo --open
  $ npx highwater demo --interval 300ms --data-dir ./demo-data`)
    .action((flags: DemoFlags) => run((context) => demo(flags, context), true));
}

async function demo(flags: DemoFlags, context: CommandContext): Promise<number> {
  const folder = demoFolder(flags.dataDir, context.cwd);
  context.beforeExit(folder.discard);
  const simulator = await startSimulator({ seed: flags.seed, records, keepHistory: false });
  try {
    await publishAndShow(flags, folder, simulator, context);
    return 0;
  } finally {
    await simulator.stop();
    folder.discard();
  }
}

async function publishAndShow(
  flags: DemoFlags,
  folder: DemoFolder,
  simulator: Simulator,
  context: CommandContext,
): Promise<void> {
  const config = demoConfig(simulator, folder.path);
  const { secrets } = config;
  const logger = createLogger({ level: 'warn', format: 'pretty', secrets, ...context.logging });
  const over = new AbortController();
  const timer = flags.for === undefined ? undefined : setTimeout(() => over.abort(), flags.for);
  const signal = AbortSignal.any([context.signal, over.signal]);
  const instance = instanceName();
  const log = openLog(config, { logger, signal, instance });
  const http = { host: '127.0.0.1', port: flags.httpPort, token: null };
  const admin = await serveAdmin(http, config, log, instance, logger).catch((error: unknown) => {
    if (flags.httpPort !== 0) throw error;
    // No port is free, and none was asked for: the demo works without the dashboard.
    return null;
  });
  const dashboard = admin === null ? null : `${admin.url}/`;
  const paint = painter(context.color);
  const facts = { ...simulator, ...folder, dashboard, paint };
  const changes: Record<string, number> = Object.fromEntries(config.feeds.map(({ name }) => [name, 0]));
  let transitions = 0;

  await context.print(welcome(facts));
  if (flags.open === true && dashboard !== null) openInBrowser(dashboard);
  const begunMs = Date.now();
  const unread = new Set(Object.keys(changes));
  let shown: Promise<void> = Promise.resolve();
  function onPage(report: PageReport): void {
    const { name } = report.feed;
    changes[name]! += report.changes.count;
    transitions += report.changes.transitions.reduce((sum, of) => sum + of, 0);
    if (!report.progress.complete || !unread.delete(name)) return;
    const count = report.state.offset.record_count.toLocaleString('en').padStart(6);
    const seconds = ((Date.now() - begunMs) / 1_000).toFixed(1);
    void context.print(`  ${name.padEnd(9)} ${count} records in ${seconds} s\n`);
    if (unread.size > 0) return;
    const show = showEvents(config, log, context, signal);
    shown = context.print(whatToTry(facts)).then(show);
    simulator.marketDay.step();
    simulator.marketDay.start(flags.interval);
  }
  try {
    const tell = admin === null ? {} : { tell: admin.tell };
    const deps = { log: log.commitLog, registry: log.registry, logger, onPage, ...tell };
    await runWorker(config, deps, false, signal);
  } finally {
    clearTimeout(timer);
    over.abort();
    await shown;
    await admin?.close();
    await log.commitLog.close();
  }
  await context.print(farewell(changes, transitions, facts));
}

/** If there is no browser, the address is on the screen. */
function openInBrowser(address: string): void {
  const openers: Readonly<Record<string, string>> = { darwin: 'open', win32: 'explorer' };
  const browser = spawn(openers[process.platform] ?? 'xdg-open', [address], {
    stdio: 'ignore',
    detached: true,
  });
  browser.once('error', () => undefined).unref();
}

/** Reads the events that are committed after this call back from the log, like any consumer. The returned function shows them. */
function showEvents(
  config: ConfigWithApi,
  log: OpenLog,
  context: CommandContext,
  signal: AbortSignal,
): () => Promise<void> {
  const topics = config.feeds.flatMap((feed) => {
    const { changes, transitions } = feedTopics(feed, config.topicPrefix);
    return [changes, ...transitions].map(({ name }) => name);
  });
  const line = eventLines(log.registry, config, context);
  const events = log.commitLog.read(topics, { fromBeginning: false, follow: true, signal });
  return async () => {
    for await (const record of events) await context.print(await line(record));
  };
}

/** Ignores the user's settings: the demo must never reach a real API or a real log. */
function demoConfig({ url, token }: Simulator, dataDir: string): ConfigWithApi {
  return loadConfig({
    flags: { dataDir, pollInterval: '1s', requestsPerSecond: '1000' },
    env: { HIGHWATER_API_URL: url, HIGHWATER_API_TOKEN: token },
    cwd: dataDir,
    definitions: feedDefinitions.map((definition) => ({ ...definition, pageSize })),
  });
}

type DemoFolder = ReturnType<typeof demoFolder>;

/** @returns `discard` removes a temporary folder; it may be called again */
function demoFolder(chosen: string | undefined, cwd: string) {
  if (chosen !== undefined) return { path: resolve(cwd, chosen), isTemporary: false, discard: () => {} };
  try {
    const path = mkdtempSync(join(tmpdir(), 'highwater-demo-'));
    return { path, isTemporary: true, discard: () => rmSync(path, { recursive: true, force: true }) };
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new HighwaterError('LOG_UNWRITABLE', `No folder can be created in ${tmpdir()} (${code})`, {
      cause,
      now: 'The demo did not start.',
      remedy:
        'Name a folder that this user may write to (`--data-dir`), or another one for such folders (TMPDIR).',
    });
  }
}

interface DemoFacts extends Simulator, DemoFolder {
  /** Address of the page; null: there is none. */
  readonly dashboard: string | null;
  readonly paint: ReturnType<typeof painter>;
}

/** Describes the running demo. */
function welcome({ url, dashboard, path, isTemporary, paint }: DemoFacts): string {
  const page = dashboard === null ? '' : `\n  ${paint('Dashboard', 'bold')}   ${paint(dashboard, 'cyan')}\n`;
  return `
  ${paint('highwater demo', 'bold')}

  A simulated market data API runs at ${paint(url, 'cyan')}.
  Every second highwater reads what is new there, compares each record with
  its last image, and publishes what changed, once, to an embedded log in
  ${paint(path, 'cyan')}${isTemporary ? ' (removed at the end)' : ''}.
${page}
  ${paint('First snapshot', 'bold')}
`;
}

/** Commands to try beside the demo, ready to paste. */
function whatToTry({ url, token, path, paint }: DemoFacts): string {
  const folder = shellWord(path);
  const command = (text: string, what: string) => `    ${paint(`# ${what}`, 'dim')}\n    ${text}\n`;
  return `
  ${paint('Try in a second terminal', 'bold')}
${command(`npx highwater tail ipos.deal-status --data-dir ${folder}`, 'only status changes, as they happen')}${command(
  `npx highwater tail ipos --json --no-follow --from-beginning --limit 1 --data-dir ${folder}`,
  'one event with all its fields',
)}${command(
  `sqlite3 -readonly ${shellWord(`${path}/highwater.db`)} 'SELECT topic, count(*) FROM records GROUP BY topic'`,
  'the log is one SQLite file',
)}${command(
  `curl '${url}/api/v2.1/calendar/ipos?token=${token}&pagesize=1'`,
  'what the API says',
)}${command(`HIGHWATER_DATA_DIR=${folder} node -e "${program}"`, 'a program of your own (docs/consumer.md)')}${command('HIGHWATER_API_URL=https://… HIGHWATER_API_TOKEN=… npx highwater run', 'the same with your API')}
  ${paint('Live', 'bold')}   ${paint('+ created', 'green')}   ${paint('~ updated', 'yellow')}   ${paint('⚠ ▲ ▼ events of their own', 'cyan')}   ${paint('Ctrl-C ends', 'dim')}

`;
}

const program = [
  "require('highwater/consumer').connect().consume(",
  "{ group: 'me', topics: ['ipos.deal-status'] }, ({ value }) => console.log(value.name, value.status))",
].join('');

/** One line at the end. @param changes by feed */
function farewell(
  changes: Readonly<Record<string, number>>,
  transitions: number,
  { path, isTemporary, paint }: DemoFacts,
): string {
  const number = (count: number) => count.toLocaleString('en');
  const all = Object.values(changes).reduce((sum, count) => sum + count, transitions);
  const feeds = Object.entries(changes).map(([feed, count]) => `${number(count)} ${feed}`);
  const published = paint(`${number(all)} events published`, 'bold');
  const kept = isTemporary ? '' : `  The log stays in ${path}.\n`;
  return `\n  ${published}: ${feeds.join(', ')}, ${number(transitions)} transitions\n${kept}`;
}

function shellWord(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
