import { createInterface } from 'node:readline/promises';
import { Option } from 'commander';
import type { Command as FeedCommand } from '../../commands/command';
import { loadConfig } from '../../config/load-config';
import { HighwaterError } from '../../errors';
import { CliCommand } from '../process/cli-command';
import type { CommandContext, RunCommand } from '../process/command-context';
import { dateValue, durationValue, usageError, wholeNumberValue } from '../process/command-line';
import type { Input, Output } from '../terminal/terminal';
import { type OperateFlags, operate } from './operate';

/** Commands for one feed or several: `pause ipos`, `reset ipos --yes`, `resume --all`. */
export function operatorCommands(run: RunCommand): CliCommand[] {
  return [
    simple(run, { name: 'pause' }),
    simple(run, { name: 'resume' }),
    resetCommand(run),
    simple(run, { name: 'snapshot' }),
    reconcileCommand(run),
    backfillCommand(run),
  ];
}

/** `dead-letters retry`. */
export function retryDeadLettersCommand(run: RunCommand): CliCommand {
  return simple(run, { name: 'retry-dead-letters' }, 'retry').description(
    'Try the dead letters of a feed again with the current code and schemas.',
  );
}

function simple(run: RunCommand, command: FeedCommand, name: string = command.name): CliCommand {
  return ofFeeds(name).action((feeds: string[], flags: OperateFlags) =>
    run((context) => each(feeds, flags, context, (feed) => operate(feed, command, flags, context))),
  );
}

function resetCommand(run: RunCommand): CliCommand {
  return ofFeeds('reset')
    .option('--yes', 'Do not ask')
    .action((feeds: string[], flags: OperateFlags) =>
      run((context) =>
        each(feeds, flags, context, async (feed) => {
          const [input, output] = [context.stdin(), context.stderr];
          const what = `reset removes all images of ${feed} and publishes every record again`;
          if (flags.yes !== true && !(await confirmed(feed, what, { input, output }, context.signal))) {
            context.note('highwater: nothing was reset.\n');
            return 1;
          }
          return operate(feed, { name: 'reset' }, flags, context);
        }),
      ),
    );
}

interface ReconcileFlags extends OperateFlags {
  readonly dryRun?: true;
  readonly allowDeletes?: number;
}

function reconcileCommand(run: RunCommand): CliCommand {
  return ofFeeds('reconcile')
    .option('--dry-run', 'Show what would be published, and publish nothing')
    .option(
      '--allow-deletes <count>',
      'Delete at most this many records, even if they are a large share of the feed',
      wholeNumberValue(0, Number.MAX_SAFE_INTEGER),
    )
    .action((feeds: string[], flags: ReconcileFlags) => {
      const { dryRun = false, allowDeletes = null } = flags;
      const command = { name: 'reconcile', dryRun, allowDeletes } as const;
      return run((context) => each(feeds, flags, context, (feed) => operate(feed, command, flags, context)));
    });
}

interface BackfillFlags extends OperateFlags {
  readonly from: string;
  readonly to: string;
}

function backfillCommand(run: RunCommand): CliCommand {
  return ofFeeds('backfill')
    .requiredOption('--from <date>', 'First day', dateValue)
    .requiredOption('--to <date>', 'Last day', dateValue)
    .action((feeds: string[], flags: BackfillFlags) =>
      run((context) => {
        const { from, to } = flags;
        if (from > to) {
          throw usageError(
            `--from ${from} is after --to ${to}`,
            'No request was sent.',
            'Give the first day and the last day, both included.',
          );
        }
        const command = { name: 'backfill', from, to } as const;
        return each(feeds, flags, context, (feed) => operate(feed, command, flags, context));
      }),
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

function ofFeeds(name: string): CliCommand {
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
${(examples[name] ?? [`${name} ipos`]).map((example) => `  $ npx highwater ${example}`).join('\n')}`);
}

/**
 * Asks for the name of the feed or group that is concerned, because `yes` is typed too easily.
 * @param what it would do
 * @param terminal where somebody is asked: stdin and stderr, if they are a terminal
 * @param signal Ctrl-C, which counts as no
 * @throws HighwaterError USAGE_INVALID where there is no terminal
 */
export async function confirmed(
  name: string,
  what: string,
  terminal: { readonly input: Input; readonly output: Output },
  signal: AbortSignal,
): Promise<boolean> {
  const { input, output } = terminal;
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
