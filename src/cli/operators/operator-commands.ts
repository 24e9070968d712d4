import { Command, Option } from 'commander';
import type { Command as FeedCommand } from '../../commands/command';
import { configOptions } from '../../config/command-options';
import { HighwaterError } from '../../errors';
import type { RunCommand } from '../process/command-context';
import { dateValue, durationValue, wholeNumberValue } from '../process/option-values';
import { confirmReset } from './confirm-reset';
import { type OperateFlags, operate } from './operate';

/** What an operator asks of one feed: `pause ipos`, `reset ipos --yes`, `dead-letters retry ipos`. */
export function operatorCommands(run: RunCommand): Command[] {
  return [
    simple(run, { name: 'pause' }),
    simple(run, { name: 'resume' }),
    resetCommand(run),
    simple(run, { name: 'snapshot' }),
    reconcileCommand(run),
    backfillCommand(run),
  ];
}

/** `dead-letters retry`, for the command that has what concerns dead letters. */
export function retryDeadLettersCommand(run: RunCommand): Command {
  return simple(run, { name: 'retry-dead-letters' }, 'retry').description(
    'Try the dead letters of a feed again, with the code and schemas of today.',
  );
}

function simple(run: RunCommand, command: FeedCommand, name: string = command.name): Command {
  return ofFeed(name).action((feed: string, flags: OperateFlags) =>
    run((context) => operate(feed, command, flags, context)),
  );
}

interface ResetFlags extends OperateFlags {
  readonly yes?: true;
}

function resetCommand(run: RunCommand): Command {
  return ofFeed('reset')
    .option('--yes', 'Do not ask')
    .action((feed: string, flags: ResetFlags) =>
      run(async (context) => {
        const [input, output] = [context.stdin(), context.stderr];
        if (flags.yes !== true && !(await confirmReset(feed, { input, output }, context.signal))) {
          context.note('highwater: nothing was reset.\n');
          return 1;
        }
        return operate(feed, { name: 'reset' }, flags, context);
      }),
    );
}

interface ReconcileFlags extends OperateFlags {
  readonly dryRun?: true;
  readonly allowDeletes?: number;
}

function reconcileCommand(run: RunCommand): Command {
  return ofFeed('reconcile')
    .option('--dry-run', 'Say what would be published, and publish nothing')
    .option(
      '--allow-deletes <count>',
      'Delete so many records at most, also where that is a large share of the feed',
      wholeNumberValue(0, Number.MAX_SAFE_INTEGER),
    )
    .action((feed: string, flags: ReconcileFlags) => {
      const { dryRun = false, allowDeletes = null } = flags;
      const command = { name: 'reconcile', dryRun, allowDeletes } as const;
      return run((context) => operate(feed, command, flags, context));
    });
}

interface BackfillFlags extends OperateFlags {
  readonly from: string;
  readonly to: string;
}

function backfillCommand(run: RunCommand): Command {
  return ofFeed('backfill')
    .requiredOption('--from <date>', 'First day', dateValue)
    .requiredOption('--to <date>', 'Last day', dateValue)
    .action((feed: string, flags: BackfillFlags) =>
      run((context) => {
        const { from, to } = flags;
        if (from > to) {
          throw new HighwaterError('USAGE_INVALID', `--from ${from} is after --to ${to}`, {
            now: 'Nothing was asked of anybody.',
            remedy: 'Give the first day and the last day, both included.',
          });
        }
        return operate(feed, { name: 'backfill', from, to }, flags, context);
      }),
    );
}

const examples: Readonly<Record<string, readonly string[]>> = {
  reset: ['reset ipos', 'reset ipos --yes       from a script'],
  reconcile: [
    'reconcile ipos --dry-run             what would be published',
    'reconcile ipos',
    'reconcile ipos --allow-deletes 120   when so many are really gone',
  ],
  backfill: ['backfill insights --from 2020-01-01 --to 2020-12-31'],
  retry: ['dead-letters list ipos', 'dead-letters retry ipos'],
};

function ofFeed(name: string): Command {
  const command = new Command(name)
    .argument('<feed>', 'such as ipos')
    .option('--json', 'One JSON object a line')
    .addOption(
      new Option('--wait <duration>', 'How long a publisher has to accept it')
        .argParser(durationValue)
        .default(10_000, '10s'),
    );
  for (const option of configOptions(['dataDir', 'topicPrefix', 'appId', 'apiUrl']))
    command.addOption(option);
  return command.addHelpText(
    'after',
    `
The publisher that owns the feed carries it out and answers. When none runs, this command acquires the feed and does it
itself; then it needs the API as a publisher does (HIGHWATER_API_URL, HIGHWATER_API_TOKEN). Ctrl-C ends the waiting alone:
a publisher that has accepted goes on.

Exit code 0 when it is carried out, 1 when it is not, or when deletes wait for an operator; 2 for a wrong command line.

Examples:
${(examples[name] ?? [`${name} ipos`]).map((example) => `  $ npx highwater ${example}`).join('\n')}`,
  );
}
