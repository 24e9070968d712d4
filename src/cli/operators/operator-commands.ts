import { Command, Option } from 'commander';
import type { Command as FeedCommand } from '../../commands/command';
import { addSettings } from '../../config/command-options';
import type { RunCommand } from '../process/command-context';
import { dateValue, durationValue, wholeNumberValue } from '../process/option-values';
import { usageError } from '../process/usage';
import { confirmReset } from './confirm-reset';
import { type OperateFlags, operate } from './operate';

/** Commands for one feed: `pause ipos`, `reset ipos --yes`. */
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

/** `dead-letters retry`. */
export function retryDeadLettersCommand(run: RunCommand): Command {
  return simple(run, { name: 'retry-dead-letters' }, 'retry').description(
    'Try the dead letters of a feed again with the current code and schemas.',
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
    .option('--dry-run', 'Show what would be published, and publish nothing')
    .option(
      '--allow-deletes <count>',
      'Delete at most this many records, even if they are a large share of the feed',
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
          throw usageError(
            `--from ${from} is after --to ${to}`,
            'No request was sent.',
            'Give the first day and the last day, both included.',
          );
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
    'reconcile ipos --allow-deletes 120   if so many records are really gone',
  ],
  backfill: ['backfill insights --from 2020-01-01 --to 2020-12-31'],
  retry: ['dead-letters list ipos', 'dead-letters retry ipos'],
};

function ofFeed(name: string): Command {
  const command = new Command(name)
    .argument('<feed>', 'such as ipos')
    .option('--json', 'One JSON object a line')
    .addOption(
      new Option('--wait <duration>', 'How long to wait for a publisher to accept the command')
        .argParser(durationValue)
        .default(10_000, '10s'),
    );
  return addSettings(command, ['dataDir', 'topicPrefix', 'appId', 'apiUrl']).addHelpText(
    'after',
    `
The publisher that owns the feed carries out the command and answers. If no publisher runs, this command acquires the feed and
does the work itself; then it needs the API like a publisher (HIGHWATER_API_URL, HIGHWATER_API_TOKEN). Ctrl-C ends only the
waiting: a publisher that has accepted the command goes on.

The exit code is 0 when the command was carried out, 1 when it was not or when deletes wait for an operator, and 2 for a wrong
command line.

Examples:
${(examples[name] ?? [`${name} ipos`]).map((example) => `  $ npx highwater ${example}`).join('\n')}`,
  );
}
