import { type CommandOptions, type CommandResult, run } from './command';

/** Something that this machine lacks, and what to do. */
export class MissingToolError extends Error {
  constructor(what: string, remedy: string, cause: unknown) {
    super(`${what}\n  What needs it was not looked at.\n  ${remedy}, then run npm run test:outside again.`, {
      cause,
    });
    this.name = 'MissingToolError';
  }
}

/**
 * Runs a program that this machine may lack.
 * @param remedy what to do then
 * @throws MissingToolError
 */
export function runTool(
  program: string,
  args: readonly string[],
  remedy: string,
  options: CommandOptions,
): Promise<CommandResult> {
  return run(program, args, options).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    throw new MissingToolError(`${program} was not found`, remedy, error);
  });
}
