#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { version } from '../version';
import { deadLettersCommand } from './dead-letters';
import { demoCommand } from './demo';
import { doctorCommand } from './doctor';
import { explainCommand } from './explain';
import { healthcheckCommand } from './healthcheck';
import { operatorCommands } from './operator-commands';
import { runWorkerCommand } from './run';
import { schemasCommand } from './schemas';
import { simulateCommand } from './simulate';
import { statusCommand } from './status';
import { tailCommand } from './tail';
import { reportUsage } from './usage';

const program = new Command('highwater')
  .description('Turns polled REST endpoints into exactly-once change feeds.')
  .version(version)
  .helpCommand('help [command]', 'Help for a command')
  // What commander says of a wrong command line is reported below, in the form that every error has.
  .configureOutput({ outputError: () => {} })
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

const groups: readonly (readonly [heading: string, commands: readonly Command[]])[] = [
  ['Publish:', [demoCommand(), runWorkerCommand()]],
  ['See what is published, and how it goes:', [tailCommand(), statusCommand(), deadLettersCommand()]],
  ['Find out what is wrong:', [doctorCommand(), explainCommand(), healthcheckCommand()]],
  ['Operate a feed:', operatorCommands()],
  ['Develop against it:', [schemasCommand(), simulateCommand()]],
];
for (const [heading, commands] of groups) {
  for (const command of commands) {
    program.addCommand(command.helpGroup(heading).copyInheritedSettings(program));
    for (const part of command.commands) part.copyInheritedSettings(program);
  }
}

async function main(): Promise<void> {
  try {
    await program.parseAsync();
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    process.exitCode = reportUsage(error, program.commands);
  }
}

void main();
