import { once } from 'node:events';
import { environmentSecrets } from '../../config/environment-secrets';
import type { HighwaterError } from '../../errors';
import type { LoggerOptions } from '../../logging/logger';
import { wantsColor } from '../../logging/wants-color';
import { type Input, type Output, writeError } from '../terminal/terminal';
import type { Interruption } from './interruption';

/** Everything a command line gets from the process that it runs in. */
export interface Surroundings {
  /** Without the program's own name. */
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly stdin: () => Input;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Called once, when a command begins. @param report writes an uncaught error to stderr and returns the exit code */
  interruption(report: (error: unknown) => number): Interruption;
}

/** What every command works with. */
export interface CommandContext extends Omit<Surroundings, 'args' | 'interruption'>, Interruption {
  /** Aborted by the first SIGINT or SIGTERM, when the terminal closes (SIGHUP), and when nobody reads stdout any more. */
  readonly signal: AbortSignal;
  /** For `createLogger`. */
  readonly logging: Required<Pick<LoggerOptions, 'stream' | 'color'>>;
  /** Writes to stdout; resolves when there is room for more. */
  print(text: string): Promise<void>;
  /** Writes to stderr. */
  note(text: string): void;
  /** Writes an error to stderr, and the command goes on. */
  report(error: HighwaterError): void;
  /** Keeps secrets out of what is said when the command ends by an error. */
  hide(secrets: readonly string[]): void;
}

/** @returns exit code */
export type CommandAction = (context: CommandContext) => Promise<number>;

export type RunCommand = (action: CommandAction) => Promise<void>;

/**
 * Runs a command: interruptions, closed pipes and errors are handled here for all commands.
 * @returns exit code
 */
export async function runCommand(action: CommandAction, surroundings: Surroundings): Promise<number> {
  const { env, cwd, stdin, stdout, stderr } = surroundings;
  // Until the command has read its settings, and for good where these are wrong, or not read at all.
  const secrets = environmentSecrets(env);
  const stdoutClosed = new AbortController();
  stdout.on('error', () => stdoutClosed.abort());
  // Nobody reads stderr any more (EPIPE), or its terminal is gone: no reason to stop publishing.
  stderr.on('error', () => {});

  const report = (error: unknown): number => writeError(error, surroundings, secrets);
  const interruption = surroundings.interruption(report);
  const signal = AbortSignal.any([interruption.signal, stdoutClosed.signal]);
  try {
    return await action({
      env,
      cwd,
      stdin,
      stdout,
      stderr,
      signal,
      report,
      beforeExit: interruption.beforeExit,
      logging: { stream: stderr, color: wantsColor(stderr, env) },
      print: (text) => print(text, stdout, stdoutClosed.signal, signal),
      note: (text) => void stderr.write(text),
      hide: (more) => void secrets.push(...more),
    });
  } catch (error) {
    return report(error);
  }
}

/** A reader that is slower than the log holds the command up instead of filling the memory, until the signal. */
async function print(text: string, stdout: Output, closed: AbortSignal, signal: AbortSignal): Promise<void> {
  if (closed.aborted || stdout.write(text) || signal.aborted) return;
  await once(stdout, 'drain', { signal }).catch(() => {});
}
