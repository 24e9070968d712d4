import { Command } from 'commander';
import { pause } from '../async/wait';
import { addSettings } from '../config/command-options';
import type { Config } from '../config/load-config';
import { HighwaterError } from '../errors';
import { problemLines, statusLines } from './lines/status-table';
import { type OpenLog, readLog } from './log/open-log';
import { readStatus, type StatusLine } from './log/read-status';
import {
  explained,
  isUnexplained,
  type PublisherView,
  publisherLines,
  publisherView,
} from './process/ask-publisher';
import type { CommandContext, RunCommand } from './process/command-context';
import { durationValue } from './process/option-values';
import { liveRegion } from './terminal/live-region';
import { painted, type Span, span } from './terminal/spans';
import { canRedraw } from './terminal/terminal';

/** A feed needs an operator, or is late. */
const NOT_WELL = 3;
const USUAL_WATCH_MS = 2_000;

interface StatusFlags {
  readonly json?: true;
  /** ms; true: the usual time. */
  readonly watch?: number | true;
  readonly [setting: string]: unknown;
}

export function statusCommand(run: RunCommand): Command {
  const command = new Command('status')
    .option('--json', 'One JSON object a line, one line for each feed')
    .option(
      '-w, --watch [duration]',
      'Show the status again at this interval, until Ctrl-C (2s)',
      durationValue,
    );
  return addSettings(command, ['feeds', 'dataDir', 'topicPrefix', 'appId', 'pollInterval'])
    .addHelpText(
      'after',
      `
LAST SCAN: when the API was last read to its end. MARK: how old the newest record of that scan is (\`updated\`). API: shown
if the feeds read different APIs. ✓ up to date, ↻ being read, ! behind, ‖ paused, ✗ needs an operator,
? has never shown a row. The lines below the table say what is wrong and what to do.

The exit code is 3 when a feed is parked by an error, or behind: its last complete scan is older than three poll intervals of
its publisher. A paused feed is not behind. --poll-interval is used only for a feed whose publisher has not stored its own.

Examples:
  $ npx highwater status
  $ npx highwater status -w                 keep it on the screen
  $ npx highwater status --json | jq -r 'select(.behind) | .feed'`,
    )
    .action((flags: StatusFlags) => run((context) => showStatus(flags, context)));
}

async function showStatus(flags: StatusFlags, context: CommandContext): Promise<number> {
  try {
    return await readStatusOf(flags, context);
  } catch (error) {
    const view = flags.json === true ? null : await publisherView(flags, context);
    if (view !== null) context.note(`The log cannot be read. ${publisherLines(view)}`);
    throw error;
  }
}

function readStatusOf(flags: StatusFlags, context: CommandContext): Promise<number> {
  const warn = (warning: string): void => context.note(`highwater: ${warning}\n`);
  const show = async (open: OpenLog, config: Config): Promise<number> => {
    if (flags.watch !== undefined)
      return watch(() => explainedStatus(config, open, flags, context), flags, context);
    const { all, view } = await explainedStatus(config, open, flags, context);
    if (flags.json === true) await context.print(jsonLines(all));
    else {
      const lines = statusLines(all, { nowMs: Date.now(), width: context.width() });
      await context.print(textOf(lines, context) + spaceLine(all) + publisherText(all, view));
    }
    return all.some(({ behind, condition }) => behind || condition === 'parked') ? NOT_WELL : 0;
  };
  return readLog(flags, 'feeds', context, show, warn);
}

interface Explained {
  readonly all: readonly StatusLine[];
  /** Null: it was not asked, or did not answer. */
  readonly view: PublisherView | null;
}

/** What the log says of each feed and, where it does not explain how a feed stands, the publisher on this machine. */
async function explainedStatus(
  config: Config,
  open: OpenLog,
  flags: StatusFlags,
  context: CommandContext,
): Promise<Explained> {
  const stored = await readStatus(config, open, context.signal);
  const view = stored.some(isUnexplained) ? await publisherView(flags, context) : null;
  return { all: stored.map((one) => explained(one, view)), view };
}

/**
 * Shows the status repeatedly until the signal: on a terminal in one place, otherwise as a block or as JSON lines each time.
 * If the log cannot be read, the error is shown and the log is asked again.
 * @returns exit code
 */
async function watch(
  read: () => Promise<Explained>,
  { watch: given, json }: StatusFlags,
  context: CommandContext,
): Promise<number> {
  const { stdout, env, signal, color } = context;
  const everyMs = typeof given === 'number' ? given : USUAL_WATCH_MS;
  const region = !json && canRedraw(stdout, env) ? liveRegion(stdout, color, context.beforeExit) : null;
  const every = everyMs % 1_000 === 0 ? `${everyMs / 1_000} s` : `${everyMs} ms`;
  try {
    for (; !signal.aborted; await pause(everyMs, signal)) {
      const found = await read().catch((error: unknown) => {
        if (signal.aborted || error instanceof HighwaterError) return error as HighwaterError;
        throw error;
      });
      if (signal.aborted) break;
      // The last column of a terminal that is drawn over stays free.
      const width = context.width() - (region === null ? 0 : 1);
      const time = new Date();
      if (!('all' in found)) {
        const { code, message, remedy } = found;
        const problem = { mark: '✗', style: 'red', texts: [`${code}: ${message}`], remedy } as const;
        if (json) context.note(`highwater: ${code}: ${message}\n`);
        else await show(problemLines(problem, width), time);
      } else if (json) await context.print(jsonLines(found.all));
      else await show(statusLines(found.all, { nowMs: Date.now(), width }), time);
    }
    return 0;
  } finally {
    region?.end('keep');
  }

  async function show(lines: readonly (readonly Span[])[], time: Date): Promise<void> {
    const clock = time.toLocaleTimeString('en-GB', { hour12: false });
    if (region !== null) region.show([...lines, [], [span(`${clock}, every ${every}. Ctrl-C ends.`, 'dim')]]);
    else await context.print(`${time.toISOString()}\n${textOf(lines, context)}\n`);
  }
}

const jsonLines = (all: readonly StatusLine[]) => all.map((one) => `${JSON.stringify(one)}\n`).join('');

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
