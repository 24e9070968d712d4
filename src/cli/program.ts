import { Command, CommanderError } from 'commander';
import { version } from '../version';
import type { RunCommand, Surroundings } from './process/command-context';
import { reportUsage } from './process/usage';
import { type Output, widthOf } from './terminal/terminal';

/** A command as the help lists it. Its module is loaded only when the command is named: all of them with their libraries take half a second. */
interface Listed {
  readonly name: string;
  /** What follows the name in the help. */
  readonly usage: string;
  readonly description: string;
  /** The commands of the module, of which this is one. */
  load(run: RunCommand): readonly Command[];
}

function loadOperators(run: RunCommand): readonly Command[] {
  const {
    operatorCommands,
  }: typeof import('./operators/operator-commands') = require('./operators/operator-commands');
  return operatorCommands(run);
}

/** In the order of the help. */
const groups: Readonly<Record<string, readonly Listed[]>> = {
  'Publish:': [
    {
      name: 'demo',
      usage: '[options]',
      description:
        'See it work: a simulated API, all three feeds, events live in this terminal and on the dashboard. Needs nothing.',
      load(run) {
        const { demoCommand }: typeof import('./demo') = require('./demo');
        return [demoCommand(run)];
      },
    },
    {
      name: 'init',
      usage: '[options] <url>',
      description:
        'Read the endpoint of another API, find out how it is polled, and write its feed and schema.',
      load(run) {
        const { initCommand }: typeof import('./init') = require('./init');
        return [initCommand(run)];
      },
    },
    {
      name: 'run',
      usage: '[options]',
      description: 'Poll the API and publish what changed, until a signal.',
      load(run) {
        const { runWorkerCommand }: typeof import('./run') = require('./run');
        return [runWorkerCommand(run)];
      },
    },
  ],
  'See what is published, and how it goes:': [
    {
      name: 'tail',
      usage: '[options] <topics...>',
      description: 'Show decoded records of topics, live, while a publisher runs elsewhere.',
      load(run) {
        const { tailCommand }: typeof import('./tail') = require('./tail');
        return [tailCommand(run)];
      },
    },
    {
      name: 'status',
      usage: '[options]',
      description: 'Show of each feed who publishes it, how far it is, and what is wrong. Changes nothing.',
      load(run) {
        const { statusCommand }: typeof import('./status') = require('./status');
        return [statusCommand(run)];
      },
    },
    {
      name: 'dead-letters',
      usage: '',
      description:
        'What could not be published: rows without an id or a time stamp, and changes too large for the log.',
      load(run) {
        const { deadLettersCommand }: typeof import('./dead-letters') = require('./dead-letters');
        return [deadLettersCommand(run)];
      },
    },
  ],
  'Find out what is wrong:': [
    {
      name: 'doctor',
      usage: '[options]',
      description:
        'Check settings, API, log and schemas, and say what to do where something is wrong. Changes nothing.',
      load(run) {
        const { doctorCommand }: typeof import('./doctor') = require('./doctor');
        return [doctorCommand(run)];
      },
    },
    {
      name: 'explain',
      usage: '[code]',
      description: 'Say what the code of an error means, why it comes and what to do. Asks no server.',
      load(run) {
        const { explainCommand }: typeof import('./explain') = require('./explain');
        return [explainCommand(run)];
      },
    },
    {
      name: 'healthcheck',
      usage: '[options]',
      description: 'Ask the publisher on this machine how it is: exit 0 when well, else 1 with the reasons.',
      load(run) {
        const { healthcheckCommand }: typeof import('./healthcheck') = require('./healthcheck');
        return [healthcheckCommand(run)];
      },
    },
  ],
  'Operate a feed:': Object.entries({
    pause: 'Stop polling a feed until resume; it stays owned.',
    resume: 'Poll a paused feed again.',
    reset: 'Begin a feed anew: its images are removed, and all records come again as reads.',
    snapshot: 'Read all records of a feed again and show each once more.',
    reconcile: 'Compare a feed with the whole API: silent changes, late records, deletes.',
    backfill: 'Read an older range of a feed; records that are not known come as reads.',
  }).map(([name, description]) => ({ name, usage: '[options] <feed>', description, load: loadOperators })),
  'Develop against it:': [
    {
      name: 'schemas',
      usage: '',
      description:
        'The Avro schemas of what is published: print them, compare them with the registry, register them.',
      load(run) {
        const { schemasCommand }: typeof import('./schemas') = require('./schemas');
        return [schemasCommand(run)];
      },
    },
    {
      name: 'simulate',
      usage: '[options]',
      description: 'Serve the simulated API alone, to try anything against.',
      load(run) {
        const { simulateCommand }: typeof import('./simulate') = require('./simulate');
        return [simulateCommand(run)];
      },
    },
  ],
};
const usages = new Map(
  Object.values(groups).flatMap((group) => group.map(({ name, usage }) => [name, usage])),
);

/** The command that a command line names, also `help NAME`. */
function namedIn(args: readonly string[]): string | undefined {
  const [first, second] = args.filter((arg) => !arg.startsWith('-'));
  return first === 'help' ? second : first;
}

/** All commands, as far as the help lists them; the one that is named with all that it has. */
function commandsFor(named: string | undefined, run: RunCommand): readonly Command[] {
  return Object.entries(groups).flatMap(([heading, group]) =>
    group.map(({ name, description, load }) => {
      const loaded = name === named ? load(run).find((command) => command.name() === name) : undefined;
      return (loaded ?? new Command(name)).description(description).helpGroup(heading);
    }),
  );
}

/**
 * Runs one command line.
 * @returns exit code
 */
export async function runProgram(surroundings: Surroundings): Promise<number> {
  const program = emptyProgram(surroundings);
  let code = 0;
  const run: RunCommand = async (action) => {
    const { runCommand }: typeof import('./process/command-context') = require('./process/command-context');
    code = await runCommand(action, surroundings);
  };
  for (const command of commandsFor(namedIn(surroundings.args), run)) {
    program.addCommand(command.copyInheritedSettings(program));
    for (const one of command.commands) one.copyInheritedSettings(program);
  }
  try {
    await program.parseAsync(surroundings.args, { from: 'user' });
    return code;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return reportUsage(error, program.commands, surroundings);
  }
}

function emptyProgram({ stdout, stderr }: Surroundings): Command {
  // A wrong command line is reported by `runProgram` in the same form as any other error, and not by commander.
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
    .configureHelp({ subcommandTerm: (command) => termOf(command) })
    .exitOverride()
    .addHelpText(
      'after',
      `
Examples:
  $ npx highwater demo                    a simulated API, its feeds published and shown live; needs nothing
  $ npx highwater run                     poll the API and publish, until Ctrl-C
  $ npx highwater tail ipos.deal-status   watch what is published, from another terminal
  $ npx highwater status -w               how every feed is, kept on the screen
  $ npx highwater doctor                  what is set wrong or not reached, and what to do

Exit codes: 0 fine, 1 failed, 2 usage or configuration, 3 behind. NO_COLOR, FORCE_COLOR and TERM=dumb are respected.`,
    );
}

function helpWidthOf(stream: Output): number {
  return stream.isTTY === true ? widthOf(stream) : 80;
}

function termOf(command: Command): string {
  const term = `${command.name()} ${usages.get(command.name()) ?? command.usage()}`;
  return term.trimEnd();
}
