import { once } from 'node:events';
import { environmentSecrets } from '../config/environment-secrets';
import { HighwaterError } from '../errors';
import { wantsColor } from '../logger';
import { renderError } from '../render-error';
import { keepEnvironmentOutOfReports } from './diagnostic-reports';
import { type Interruption, listenForSignals } from './interruption';
import { widthOf } from './terminal';

/** What every command works with. */
export interface CommandContext extends Pick<Interruption, 'beforeForcedExit'> {
  /** Aborted by the first SIGINT, SIGTERM or SIGHUP, and when nobody reads stdout any more. */
  readonly signal: AbortSignal;
  /** Writes to stdout; resolves when there is room for more. */
  print(text: string): Promise<void>;
  /** Writes to stderr. */
  note(text: string): void;
  /** Keeps secrets out of what is said when the command ends by an error. */
  hide(secrets: readonly string[]): void;
}

/** @returns exit code */
export type CommandAction = (context: CommandContext) => Promise<number>;

const exitAnywayAfterMs = 1_000;

/** Runs a command to its exit code: signals, closed pipes and errors are answered here, for all commands alike. */
export async function runCommand(action: CommandAction): Promise<void> {
  keepEnvironmentOutOfReports();
  // Until the command has read its settings, and for good where these are wrong, or not read at all.
  const secrets = environmentSecrets(process.env);
  const stdoutClosed = new AbortController();
  process.stdout.on('error', () => stdoutClosed.abort());
  // Nobody reads stderr any more (EPIPE), or its terminal is gone: no reason to stop publishing.
  process.stderr.on('error', () => {});
  const interruption = listenForSignals();

  function report(error: unknown): number {
    const { stderr } = process;
    stderr.write(renderError(error, { color: wantsColor(stderr), secrets, width: widthOf(stderr) }));
    return error instanceof HighwaterError ? error.kind.exit : 1;
  }
  // A rejection that nobody handles comes here too.
  process.on('uncaughtException', (error) => {
    const code = report(error);
    interruption.exitNow(code);
  });

  const signal = AbortSignal.any([interruption.signal, stdoutClosed.signal]);
  try {
    process.exitCode = await action({
      signal,
      beforeForcedExit: interruption.beforeForcedExit,
      print: (text) => print(text, stdoutClosed.signal, signal),
      note: (text) => void process.stderr.write(text),
      hide: (more) => void secrets.push(...more),
    });
  } catch (error) {
    process.exitCode = report(error);
  }
  // All is closed by now and the process ends by itself; what lingers, such as a reader that stands still, must not hold it up.
  setTimeout(() => process.exit(), exitAnywayAfterMs).unref();
}

/** A reader that is slower than the log holds the command up instead of filling the memory, until the signal. */
async function print(text: string, closed: AbortSignal, signal: AbortSignal): Promise<void> {
  if (closed.aborted || process.stdout.write(text) || signal.aborted) return;
  await once(process.stdout, 'drain', { signal }).catch(() => {});
}
