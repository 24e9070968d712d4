import { createInterface } from 'node:readline/promises';
import { Option } from 'commander';
import type { Command as FeedCommand } from '../../commands/command';
import { loadConfig } from '../../config/load-config';
import { HighwaterError } from '../../errors';
import { CliCommand } from '../process/cli-command';
import type { CommandContext, RunCommand } from '../process/command-context';
import { dateValue, durationValue, usageError, wholeNumberValue } from '../process/command-line';
import { type OperateFlags, operate } from './operate';

/** Commands for one feed or several: `pause ipos`, `reset ipos --yes`, `resume --all`. */
export function operatorCommands(run: RunCommand): CliCommand[] {
  return [
    ofFeeds(run, 'pause', () => ({ name: 'pause' })),
    ofFeeds(run, 'resume', () => ({ name: 'resume' })),
    ofFeeds(run, 'reset', () => ({ name: 'reset' }), confirmedReset).option('--yes', 'Do not ask'),
    ofFeeds(run, 'snapshot', () => ({ name: 'snapshot' })),
    ofFeeds(run, 'reconcile', ({ dryRun = false, allowDeletes = null }) => ({
      name: 'reconcile',
      dryRun,
      allowDeletes,
    }))
      .option('--dry-run', 'Show what would be published, and publish nothing')
      .option(
        '--allow-deletes <count>',
        'Delete at most this many records, even if they are a large share of the feed',
        wholeNumberValue(0, Number.MAX_SAFE_INTEGER),
      ),
    ofFeeds(run, 'backfill', backfill)
      .requiredOption('--from <date>', 'First day', dateValue)
      .requiredOption('--to <date>', 'Last day', dateValue),
  ];
}

interface FeedsFlags extends OperateFlags {
  readonly yes?: true;
  readonly dryRun?: true;
  readonly allowDeletes?: number;
  /** Set for `backfill`. */
  readonly from?: string;
  readonly to?: string;
}

async function confirmedReset(feed: string, { yes }: FeedsFlags, context: CommandContext): Promise<boolean> {
  const what = `reset removes all images of ${feed} and publishes every record again`;
  if (yes === true || (await confirmed(feed, what, context))) return true;
  context.note('highwater: nothing was reset.\n');
  return false;
}

function backfill({ from = '', to = '' }: FeedsFlags): FeedCommand {
  if (from <= to) return { name: 'backfill', from, to };
  throw usageError(
    `--from ${from} is after --to ${to}`,
    'No request was sent.',
    'Give the first day and the last day, both included.',
  );
}

const examples: Readonly<Record<string, readonly string[]>> = {
  reset: ['reset ipos', 'reset ipos --yes       from a script'],
  reconcile: [
    'reconcile ipos --dry-run             what would be published',
    'reconcile ipos',
    'reconcile ipos --allow-deletes 120   if so many records are really gone',
  ],
  backfill: ['backfill insights --from 2020-01-01 --to 2020-12-31'],
  retry: ['dead-letters list ipos', 'dead-letters retry ipos'],
};

/**
 * Does the same for one feed after the other. An error of one of several feeds is shown, and does not keep the others from it.
 * @returns the greatest exit code
 */
async function each(
  names: readonly string[],
  flags: OperateFlags,
  context: CommandContext,
  act: (feed: string) => Promise<number>,
): Promise<number> {
  const feeds = feedsMeant(names, flags, context);
  let code = 0;
  for (const feed of feeds) {
    if (context.signal.aborted) return 1;
    try {
      code = Math.max(code, await act(feed));
    } catch (error) {
      if (feeds.length === 1 || !(error instanceof HighwaterError)) throw error;
      context.report(error);
      code = Math.max(code, error.kind.exit);
    }
  }
  return code;
}

function feedsMeant(
  names: readonly string[],
  flags: OperateFlags,
  context: CommandContext,
): readonly string[] {
  if (names.length > 0 !== (flags.all === true)) {
    if (names.length > 0) return [...new Set(names)];
    const config = loadConfig({ flags, env: context.env, cwd: context.cwd }, 'feeds');
    return config.feeds.map(({ name }) => name);
  }
  const what = names.length === 0 ? 'no feed is named' : `${names.join(', ')} and --all exclude each other`;
  throw usageError(
    what,
    'No request was sent.',
    'Name the feeds, or use --all for every feed that is enabled.',
  );
}

/** @param isMeant asks before the command is sent */
export function ofFeeds(
  run: RunCommand,
  name: string,
  commandOf: (flags: FeedsFlags) => FeedCommand,
  isMeant: typeof confirmedReset = async () => true,
): CliCommand {
  return new CliCommand(name)
    .argument('[feeds...]', 'such as ipos')
    .option('--all', 'Every feed that is enabled')
    .option('--json', 'One JSON object a line')
    .addOption(
      new Option('--wait <duration>', 'How long to wait for a publisher to accept the command')
        .argParser(durationValue)
        .default(10_000, '10s'),
    )
    .settings(['dataDir', 'topicPrefix', 'appId', 'apiUrl'])
    .notes(`
The publisher that owns a feed carries out the command and answers. If no publisher runs, this command acquires the feed and
does the work itself; then it needs the API like a publisher (HIGHWATER_API_URL, HIGHWATER_API_TOKEN). Ctrl-C ends only the
waiting: a publisher that has accepted the command goes on.

The exit code is 0 when the command was carried out, 1 when it was not or when deletes wait for an operator, and 2 for a wrong
command line.

Examples:
${(examples[name] ?? [`${name} ipos`]).map((example) => `  $ npx highwater ${example}`).join('\n')}`)
    .action((feeds: string[], flags: FeedsFlags) =>
      run((context) => {
        const command = commandOf(flags);
        return each(feeds, flags, context, async (feed) =>
          (await isMeant(feed, flags, context)) ? operate(feed, command, flags, context) : 1,
        );
      }),
    );
}

/**
 * Asks for the name of the feed or group that is concerned, because `yes` is typed too easily.
 * @param what it would do
 * @param context somebody is asked on stdin and stderr, if they are a terminal; Ctrl-C counts as no
 * @throws HighwaterError USAGE_INVALID where there is no terminal
 */
export async function confirmed(
  name: string,
  what: string,
  { stdin, stderr: output, signal }: Pick<CommandContext, 'stdin' | 'stderr' | 'signal'>,
): Promise<boolean> {
  const input = stdin();
  if (!input.isTTY || !output.isTTY) {
    const more = { now: 'Nothing was reset.', remedy: 'Say --yes when it is meant.' };
    throw new HighwaterError('USAGE_INVALID', `${what}, and there is no terminal to confirm it`, more);
  }
  const asking = createInterface({ input, output });
  const left = new AbortController();
  asking.once('close', () => left.abort());
  try {
    const question = `${what[0]!.toUpperCase()}${what.slice(1)}.\nType ${name} to go on: `;
    const answer = await asking.question(question, { signal: AbortSignal.any([signal, left.signal]) });
    return answer.trim() === name;
  } catch (error) {
    if (signal.aborted || left.signal.aborted) return false;
    throw error;
  } finally {
    asking.close();
  }
}
