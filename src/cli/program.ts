import { Command, CommanderError, Option } from 'commander';
import { HighwaterError } from '../errors';
import { version } from '../version';
import type { RunCommand, Surroundings } from './process/command-context';
import { type Output, widthOf, writeError } from './terminal/terminal';

type Load = (run: RunCommand) => Command | undefined;

const operator =
  (name: string): Load =>
  (run) =>
    (require('./operators/operator-commands') as typeof import('./operators/operator-commands'))
      .operatorCommands(run)
      .find((command) => command.name() === name);

const operators = ['pause', 'resume', 'reset', 'snapshot', 'reconcile', 'backfill'];

/** Only the module of the named command is loaded: all of them with their libraries take half a second. */
const loads: Readonly<Record<string, Load>> = {
  demo: (run) => (require('./demo') as typeof import('./demo')).demoCommand(run),
  init: (run) => (require('./init/init') as typeof import('./init/init')).initCommand(run),
  run: (run) => (require('./run') as typeof import('./run')).runWorkerCommand(run),
  tail: (run) => (require('./tail') as typeof import('./tail')).tailCommand(run),
  export: (run) => (require('./export/export') as typeof import('./export/export')).exportCommand(run),
  status: (run) => (require('./status') as typeof import('./status')).statusCommand(run),
  feeds: (run) => (require('./list') as typeof import('./list')).feedsCommand(run),
  topics: (run) => (require('./list') as typeof import('./list')).topicsCommand(run),
  deliver: (run) => (require('./deliver') as typeof import('./deliver')).deliverCommand(run),
  groups: (run) => (require('./operators/groups') as typeof import('./operators/groups')).groupsCommand(run),
  'dead-letters': (run) =>
    (require('./operators/dead-letters') as typeof import('./operators/dead-letters')).deadLettersCommand(
      run,
    ),
  doctor: (run) => (require('./doctor/doctor') as typeof import('./doctor/doctor')).doctorCommand(run),
  config: (run) => (require('./config') as typeof import('./config')).configCommand(run),
  explain: (run) => (require('./explain') as typeof import('./explain')).explainCommand(run),
  healthcheck: (run) => (require('./healthcheck') as typeof import('./healthcheck')).healthcheckCommand(run),
  backup: (run) => (require('./backup') as typeof import('./backup')).backupCommand(run),
  restore: (run) => (require('./backup') as typeof import('./backup')).restoreCommand(run),
  copy: (run) => (require('./copy') as typeof import('./copy')).copyCommand(run),
  schemas: (run) => (require('./schemas') as typeof import('./schemas')).schemasCommand(run),
  simulate: (run) => (require('./simulate') as typeof import('./simulate')).simulateCommand(run),
  completion: (run) =>
    (require('./completion') as typeof import('./completion')).completionCommand(run, () =>
      Object.values(groups).flatMap((group) =>
        Object.keys(group).map((name) => loads[name]!(run) ?? new Command(name)),
      ),
    ),
  ...Object.fromEntries(operators.map((name) => [name, operator(name)])),
};

/** By heading, in the order of the help. */
const groups: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'Publish:': {
    demo: 'See it work: a simulated API, three feeds, and live events in this terminal and on the dashboard. Needs no setup.',
    init: 'Read the endpoint of another API, find out how to poll it, and write its feed and schema.',
    run: 'Poll the API and publish changes until a signal ends it.',
    deliver:
      'Send events to webhooks and Slack, as `deliveries` in highwater.yaml says, until a signal ends it.',
  },
  'See what is published, and the state of the feeds:': {
    tail: 'Show decoded records of topics, live, while a publisher runs elsewhere.',
    export:
      'Write the events of a topic, or the records of a feed as they were at a moment, as Parquet, NDJSON or CSV.',
    status: 'Show for each feed who publishes it, how far it is, and what is wrong. Changes nothing.',
    feeds: 'List the feeds that are enabled, with endpoint and topics. Contacts no server.',
    topics: 'List the topics of the log, each with its feed.',
    groups: 'Show the groups of consumers and how far each is behind, or move a group.',
    'dead-letters':
      'Show or retry what could not be published: rows without an id or a time stamp, and changes too large for the log.',
  },
  'Find out what is wrong:': {
    doctor: 'Check settings, API, log and schemas, and say how to fix what is wrong. Changes nothing.',
    config:
      'Print the settings and where they come from, or the JSON Schema of highwater.yaml. Contacts no server.',
    explain: 'Say what an error code means, why it comes and what to do. Contacts no server.',
    healthcheck:
      'Ask the publisher on this machine for its health: exit 0 if it is healthy, otherwise 1 with the reasons.',
  },
  'Operate a feed:': {
    pause: 'Stop polling a feed until it is resumed. Its publisher keeps it.',
    resume: 'Poll a paused feed again.',
    reset: 'Reset a feed: remove its images and publish all records again as reads.',
    snapshot: 'Read all records of a feed again and publish each of them once more.',
    reconcile: 'Compare a feed with the whole API: finds silent changes, late records and deletes.',
    backfill: 'Read an older range of a feed and publish the records that are new as reads.',
  },
  'Keep the embedded log:': {
    backup: 'Copy the embedded log into one file while the publisher runs, and check the copy.',
    restore:
      'Put a backup in the place of the embedded log. Every feed gets a new incarnation, so no event id comes twice.',
    copy: 'Copy the embedded log onto Kafka. A publisher there goes on without a new snapshot.',
  },
  'Develop against it:': {
    schemas: 'Print the Avro schemas of all topics, compare them with the registry, or register them.',
    simulate: 'Serve only the simulated API, to try clients with.',
    completion: 'Print the script that completes commands and options in bash, zsh or fish.',
  },
};

/** The words behind a command's name, unless these are only options. */
const usages: Readonly<Record<string, string>> = {
  init: '[options] <url>',
  tail: '[options] <topics...>',
  deliver: '[options] [names...]',
  groups: '[options] [command] [name]',
  export: '[options] <topic>',
  'dead-letters': '',
  config: '',
  explain: '[code]',
  backup: '[options] <file>',
  restore: '[options] <file>',
  schemas: '',
  completion: '<shell>',
  ...Object.fromEntries(operators.map((name) => [name, '[options] [feeds...]'])),
};

/** The command that a command line names, also `help NAME`. */
function namedIn(args: readonly string[]): string | undefined {
  const [first, second] = args.filter((arg) => !arg.startsWith('-'));
  return first === 'help' ? second : first;
}

/** All commands as the help lists them; the named command with its options. */
function commandsFor(named: string | undefined, run: RunCommand): readonly Command[] {
  return Object.entries(groups).flatMap(([heading, group]) =>
    Object.entries(group).map(([name, description]) => {
      const command = (name === named ? loads[name]!(run) : undefined) ?? new Command(name);
      return command.description(description).helpGroup(heading);
    }),
  );
}

/**
 * Runs one command line.
 * @returns exit code
 */
export async function runProgram(surroundings: Surroundings): Promise<number> {
  // A pager that is closed, or `--help | head`.
  surroundings.stdout.on('error', () => {});
  const program = emptyProgram(surroundings);
  let code = 0;
  const run: RunCommand = async (action, servesUntilSignal = false) => {
    const { runCommand }: typeof import('./process/command-context') = require('./process/command-context');
    code = await runCommand(action, servesUntilSignal, surroundings);
  };
  for (const command of commandsFor(namedIn(surroundings.args), run)) {
    program.addCommand(command);
    for (const one of [command, ...command.commands]) addOpposites(one.copyInheritedSettings(program));
  }
  try {
    await program.parseAsync(surroundings.args, { from: 'user' });
    return code;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return reportUsage(error, surroundings);
  }
}

/** A switch can be set either way (`--json`, `--no-json`): what a script sets may be undone at the end of the line. */
export function addOpposites(command: Command): void {
  for (const { long, negate, required, optional } of [...command.options]) {
    if (required || optional || typeof long !== 'string') continue;
    const opposite = negate ? long.replace('--no-', '--') : long.replace('--', '--no-');
    if (command.options.some((one) => one.long === opposite)) continue;
    command.addOption(new Option(opposite).hideHelp());
  }
}

function emptyProgram({ stdout, stderr }: Surroundings): Command {
  // `runProgram` reports a wrong command line in the form of any other error; commander prints nothing.
  return new Command('highwater')
    .description('Turns polled REST endpoints into exactly-once change feeds.')
    .version(version)
    .helpCommand('help [command]', 'Help for a command')
    .configureOutput({
      outputError: () => {},
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(text),
      getOutHelpWidth: () => helpWidthOf(stdout),
      getErrHelpWidth: () => helpWidthOf(stderr),
    })
    .configureHelp({
      subcommandTerm: (command) => `${command.name()} ${usageOf(command)}`.trimEnd(),
    })
    .exitOverride()
    .addHelpText(
      'after',
      `
Examples:
  $ npx highwater demo                    a simulated API whose feeds are published and shown live; needs no setup
  $ npx highwater run                     poll the API and publish, until Ctrl-C
  $ npx highwater tail ipos.deal-status   watch what is published, from another terminal
  $ npx highwater status -w               the state of every feed, again every 2 s
  $ npx highwater doctor                  what is set wrong or cannot be reached, and what to do

Exit codes: 0 fine, 1 failed, 2 usage or configuration, 3 behind, 130 cut short by Ctrl-C.
NO_COLOR, FORCE_COLOR and TERM=dumb are respected.`,
    );
}

function usageOf(command: Command): string {
  const isListed = Object.hasOwn(loads, command.name());
  return usages[command.name()] ?? (isListed ? '[options]' : command.usage());
}

function helpWidthOf(stream: Output): number {
  return stream.isTTY === true ? widthOf(stream) : 80;
}

/** @returns exit code of a command line that asked for help or was wrong */
function reportUsage(error: CommanderError, surroundings: Surroundings): number {
  if (error.exitCode === 0) return 0;
  // Without a command, the help that commander has printed is the answer.
  if (error.code === 'commander.help') return 2;
  // The value of an unknown flag may be a secret.
  const said = error.message
    .replace(/^error: /, '')
    .replace(/\s*\n\s*/g, ' ')
    .replace(/^(unknown option '[^'=]*)=.*'/, "$1'");
  const [name = ''] = surroundings.args;
  const help = Object.hasOwn(loads, name) ? `highwater ${name} --help` : 'highwater --help';
  return writeError(new HighwaterError('USAGE_INVALID', said, { remedy: `See \`${help}\`.` }), surroundings);
}
