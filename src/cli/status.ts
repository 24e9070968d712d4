import { Command } from 'commander';
import { addSettings } from '../config/command-options';
import type { Config } from '../config/load-config';
import { statusTable } from './lines/status-table';
import { type OpenReader, readLog } from './log/open-log';
import { type PublisherView, publisherLines, publisherView } from './process/ask-publisher';
import type { CommandContext, RunCommand } from './process/command-context';
import { durationValue } from './process/option-values';
import { explained, type FeedStatus, isUnexplained, readStatus } from './status/feed-status';
import { watchStatus } from './status/watch-status';

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
  const isJson = flags.json === true;
  const warn = (warning: string): void => context.note(`highwater: ${warning}\n`);
  const show = async (open: OpenReader, config: Config): Promise<number> => {
    if (flags.watch !== undefined) {
      const everyMs = flags.watch === true ? USUAL_WATCH_MS : flags.watch;
      const read = async () => (await explainedStatus(config, open, flags, context)).all;
      return await watchStatus(read, { everyMs, json: isJson }, context);
    }
    const { all, view } = await explainedStatus(config, open, flags, context);
    if (isJson) await context.print(all.map((one) => `${JSON.stringify(one)}\n`).join(''));
    else await showTable(all, view, context);
    return all.some(({ behind, condition }) => behind || condition === 'parked') ? NOT_WELL : 0;
  };
  return readLog(flags, 'feeds', context, show, warn);
}

/** What the log says of each feed and, where it does not explain how a feed stands, the publisher on this machine. */
async function explainedStatus(
  config: Config,
  open: OpenReader,
  flags: StatusFlags,
  context: CommandContext,
): Promise<{ readonly all: readonly FeedStatus[]; readonly view: PublisherView | null }> {
  const stored = await readStatus(config, open, context.signal);
  const view = stored.some(isUnexplained) ? await publisherView(flags, context) : null;
  return { all: stored.map((one) => explained(one, view)), view };
}

async function showTable(
  all: readonly FeedStatus[],
  view: PublisherView | null,
  context: CommandContext,
): Promise<void> {
  const { color, width } = context;
  await context.print(statusTable(all, { nowMs: Date.now(), width: width(), color }) + spaceLine(all));
  // A publisher of another log, perhaps.
  if (view !== null && all.some(({ problems }) => problems.some(({ code }) => UNEXPLAINED.includes(code))))
    await context.print(publisherLines(view));
}

const UNEXPLAINED = ['NO_OWNER', 'OWNER_UNKNOWN'];

function spaceLine(all: readonly FeedStatus[]): string {
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
