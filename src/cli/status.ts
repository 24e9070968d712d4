import { Command } from 'commander';
import { configOptions } from '../config/command-options';
import { loadConfig } from '../config/load-config';
import { HighwaterError } from '../errors';
import { createLogger } from '../logging/logger';
import { wantsColor } from '../logging/wants-color';
import { statusTable } from './lines/status-table';
import { openLog } from './log/open-log';
import type { CommandContext, RunCommand } from './process/command-context';
import { durationValue } from './process/option-values';
import type { FeedStatus } from './status/feed-status';
import { readStatus } from './status/read-status';
import { watchStatus } from './status/watch-status';
import { widthOf } from './terminal/terminal';

const BEHIND = 3;
const USUAL_WATCH_MS = 2_000;

interface StatusFlags {
  readonly json?: true;
  /** ms, or true where the usual time is meant. */
  readonly watch?: number | true;
  readonly [setting: string]: unknown;
}

export function statusCommand(run: RunCommand): Command {
  const command = new Command('status')
    .option('--json', 'One JSON object a line, a line a feed')
    .option('-w, --watch [duration]', 'Ask again every so often, until Ctrl-C (2s)', durationValue);
  for (const option of configOptions(['feeds', 'dataDir', 'topicPrefix', 'appId', 'pollInterval']))
    command.addOption(option);
  return command
    .addHelpText(
      'after',
      `
LAST SCAN is when the API was last read to its end, MARK how old the newest record is that was read by then (\`updated\`).
✓ up to date, ↻ being read, ! behind, ‖ paused, ✗ needs somebody: what is wrong and what to do stands below the table.

Exit code 3 when a feed is behind: its last complete scan is older than three poll intervals of its publisher. A paused feed
is not behind. --poll-interval counts only for a feed whose publisher has not stored its own.

Examples:
  $ npx highwater status
  $ npx highwater status -w                 keep it on the screen
  $ npx highwater status --json | jq -r 'select(.behind) | .feed'`,
    )
    .action((flags: StatusFlags) => run((context) => showStatus(flags, context)));
}

async function showStatus(flags: StatusFlags, context: CommandContext): Promise<number> {
  const { signal } = context;
  const config = loadConfig({ flags, env: context.env, cwd: context.cwd }, 'feeds');
  context.hide(config.secrets);
  const logger = createLogger({ ...config.log, level: 'error', secrets: config.secrets, ...context.logging });
  const open = openLog(config, { signal, logger });
  try {
    if (flags.watch !== undefined) {
      const everyMs = flags.watch === true ? USUAL_WATCH_MS : flags.watch;
      return await watchStatus(config, open, { everyMs, json: flags.json === true }, context);
    }
    const all = await readStatus(config, open, signal);
    await context.print(flags.json === true ? all.map(jsonLine).join('') : textFor(all, context));
    return all.some(({ behind }) => behind) ? BEHIND : 0;
  } catch (error) {
    if (signal.aborted) return 0;
    if (!(error instanceof HighwaterError)) throw error;
    const now = 'Nothing is shown. This command touches no publisher.';
    throw new HighwaterError(error.code, error.message, { cause: error, now, remedy: error.remedy });
  } finally {
    await open.commitLog.close();
  }
}

function jsonLine(status: FeedStatus): string {
  return `${JSON.stringify(status)}\n`;
}

function textFor(all: readonly FeedStatus[], { stdout, env }: CommandContext): string {
  const { log_bytes: total = null, log_free_bytes: free = null } = all[0] ?? {};
  const used =
    total === null ? '' : `The log takes ${megabytes(total)}, of which ${megabytes(free ?? 0)} are free.\n`;
  return (
    statusTable(all, { nowMs: Date.now(), width: widthOf(stdout), color: wantsColor(stdout, env) }) + used
  );
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_000_000).toLocaleString('en-US', { maximumFractionDigits: 1 })} MB`;
}
