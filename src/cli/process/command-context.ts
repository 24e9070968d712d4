import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { environmentSecrets } from '../../config/raw-settings';
import { HighwaterError } from '../../errors';
import type { LoggerOptions } from '../../logging/logger';
import { wantsColor } from '../../logging/wants-color';
import { type Input, type Output, widthOf, writeError } from '../terminal/terminal';
import type { Interruption } from './this-process';

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

/** Streams, environment and signals of a command. */
export interface CommandContext
  extends Omit<Surroundings, 'args' | 'interruption'>,
    Pick<Interruption, 'beforeExit'> {
  /** Aborted by the first SIGINT or SIGTERM, when the terminal closes (SIGHUP), and when the reader of stdout has gone. */
  readonly signal: AbortSignal;
  /** Whether stdout is coloured. */
  readonly color: boolean;
  /** Cells of a line on stdout; Infinity if stdout is not a terminal. */
  width(): number;
  /** For `createLogger`. */
  readonly logging: Required<Pick<LoggerOptions, 'stream' | 'color'>>;
  /** Writes to stdout; resolves when there is room for more. */
  print(text: string | Uint8Array): Promise<void>;
  /** Writes to stderr. */
  note(text: string): void;
  /** Writes an error to stderr; the command goes on. */
  report(error: HighwaterError): void;
  /** Keeps these secrets out of the error that ends the command. The list may change later. */
  hide(secrets: readonly string[]): void;
}

/** @returns exit code */
export type CommandAction = (context: CommandContext) => Promise<number>;

/** @param servesUntilSignal a signal is the usual end of the command, which returns its own exit code then */
export type RunCommand = (action: CommandAction, servesUntilSignal?: boolean) => Promise<void>;

/**
 * Runs a command: interruptions, closed pipes and errors are handled here for all commands.
 * @returns exit code; above 128 when a signal cut the command short
 */
export async function runCommand(
  action: CommandAction,
  servesUntilSignal: boolean,
  surroundings: Surroundings,
): Promise<number> {
  const { env, stdout, stderr } = surroundings;
  // These are hidden until the command has read its settings, and to the end if it reads none or they are wrong.
  const hidden: (readonly string[])[] = [environmentSecrets(env)];
  const stdoutClosed = new AbortController();
  const failures: HighwaterError[] = [];
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    // The reader (`| head`) or the terminal has gone. Otherwise what was written is cut short.
    if (!isClosed(error) && stdout.isTTY !== true)
      failures.push(new HighwaterError('OUTPUT_FAILED', error.message, { cause: error }));
    stdoutClosed.abort();
  });
  // If the reader of stderr (EPIPE) or its terminal has gone, publishing goes on.
  stderr.on('error', () => {});

  const report = (error: unknown): number => writeError(error, surroundings, hidden.flat());
  const interruption = surroundings.interruption(report);
  const signal = AbortSignal.any([interruption.signal, stdoutClosed.signal]);
  const isCutShort = () => interruption.signal.aborted && !servesUntilSignal;
  try {
    const code = await action({
      ...surroundings,
      signal,
      report,
      color: wantsColor(stdout, env),
      width: () => widthOf(stdout),
      beforeExit: interruption.beforeExit,
      logging: { stream: stderr, color: wantsColor(stderr, env) },
      print: (text) => print(text, stdout, stdoutClosed.signal, signal),
      note: (text) => void stderr.write(text),
      hide: (secrets) => void hidden.push(secrets),
    });
    // The error of the last write comes a moment later.
    await setImmediate();
    if (failures.length > 0) throw failures[0];
    return isCutShort() ? interruption.code() : code;
  } catch (error) {
    if (failures.length > 0) return report(failures[0]);
    if (stdoutClosed.signal.aborted && (isAbort(error) || isClosed(error))) return 1;
    if (isCutShort() && isAbort(error)) return interruption.code();
    const code = report(error);
    return isCutShort() && error instanceof HighwaterError ? interruption.code() : code;
  }
}

/** Whether work ended only because its signal was aborted. */
function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

/** How Node.js says that the reader of a pipe has gone, on Windows also `EOF`, or the reader of a connection. */
const CLOSED: ReadonlySet<unknown> = new Set(['EPIPE', 'EOF', 'ECONNRESET']);

function isClosed(error: unknown): boolean {
  return error instanceof Error && CLOSED.has((error as NodeJS.ErrnoException).code);
}

/** A slow reader holds the command up until the signal; otherwise the text would pile up in memory. */
async function print(
  text: string | Uint8Array,
  stdout: Output,
  closed: AbortSignal,
  signal: AbortSignal,
): Promise<void> {
  if (closed.aborted || stdout.write(text) || signal.aborted) return;
  await once(stdout, 'drain', { signal }).catch(() => {});
}
