import type { Command, CommanderError } from 'commander';
import { HighwaterError } from '../../errors';
import { writeError } from '../terminal/terminal';
import type { Surroundings } from './command-context';

/** @returns exit code of a command line that asked for help or was wrong; commander has said nothing of the latter yet */
export function reportUsage(
  error: CommanderError,
  commands: readonly Command[],
  surroundings: Surroundings,
): number {
  if (error.exitCode === 0) return 0;
  // No command at all: the help that commander has printed is the answer.
  if (error.code === 'commander.help') return 2;
  // What was given to a flag that is none may be a secret that somebody took to belong there.
  const said = error.message
    .replace(/^error: /, '')
    .replace(/\s*\n\s*/g, ' ')
    .replace(/^(unknown option '[^'=]*)=.*'/, "$1'");
  const command = commands.find((one) => one.name() === surroundings.args[0]);
  const help = command === undefined ? 'highwater --help' : `highwater ${command.name()} --help`;
  const usage = new HighwaterError('USAGE_INVALID', said, { remedy: `See \`${help}\`.` });
  return writeError(usage, surroundings);
}
