import { Command } from 'commander';
import { configOptions } from '../config/command-options';
import { loadConfig } from '../config/load-config';
import { HighwaterError } from '../errors';
import { createLogger, wantsColor } from '../logger';
import { storedOffsets } from '../state/stored-offsets';
import { unlessAborted } from '../wait';
import { type CommandContext, runCommand } from './command-context';
import { type FeedStatus, feedStatus } from './feed-status';
import { statusTable } from './format/status-table';
import { openLog } from './open-log';

const BEHIND = 3;

interface StatusFlags {
  readonly json?: true;
  readonly [setting: string]: unknown;
}

export function statusCommand(): Command {
  const command = new Command('status')
    .description('Show of each feed who publishes it, how far it is, and what is wrong. Changes nothing.')
    .option('--json', 'One JSON object a line, a line a feed');
  for (const option of configOptions(['feeds', 'dataDir', 'topicPrefix', 'appId', 'pollInterval']))
    command.addOption(option);
  return command
    .addHelpText(
      'after',
      `
Exit code 3 when a feed is behind: its last complete scan was longer than three of its poll intervals ago.

Examples:
  $ npx highwater status
  $ npx highwater status --json | jq -r 'select(.behind) | .feed'`,
    )
    .action((flags: StatusFlags) => runCommand((context) => showStatus(flags, context)));
}

async function showStatus(flags: StatusFlags, context: CommandContext): Promise<number> {
  const { signal } = context;
  const config = loadConfig({ flags, env: process.env, cwd: process.cwd() }, 'feeds');
  context.hide(config.secrets);
  const logger = createLogger({ ...config.log, level: 'error', secrets: config.secrets });
  const open = openLog(config, { signal, logger });
  try {
    const names = await unlessAborted(open.commitLog.topicNames(), signal);
    if (names === null) throw new HighwaterError('LOG_MISSING', `there is no log in ${open.place} yet`);
    const [offsets, owners] = await Promise.all([
      storedOffsets(config, new Set(names), open, signal),
      open.commitLog.owners(
        config.feeds.map(({ name }) => name),
        signal,
      ),
    ]);
    const now = Date.now();
    const all = config.feeds.map((feed) =>
      feedStatus(feed, offsets.get(feed.name) ?? null, owners.get(feed.name) ?? null, now),
    );
    await context.print(flags.json === true ? all.map(jsonLine).join('') : textFor(all, now));
    return all.some(({ behind }) => behind) ? BEHIND : 0;
  } catch (error) {
    if (signal.aborted) return 0;
    if (!(error instanceof HighwaterError)) throw error;
    const now = 'Nothing is shown. Publishers are not concerned.';
    throw new HighwaterError(error.code, error.message, { cause: error, now, remedy: error.remedy });
  } finally {
    await open.commitLog.close();
  }
}

function jsonLine(status: FeedStatus): string {
  return `${JSON.stringify(status)}\n`;
}

function textFor(all: readonly FeedStatus[], nowMs: number): string {
  const { stdout } = process;
  const width = stdout.isTTY ? stdout.columns : Number.POSITIVE_INFINITY;
  return statusTable(all, { nowMs, width, color: wantsColor(stdout) });
}
