import { setTimeout as later } from 'node:timers';
import { HighwaterError } from '../errors';
import { wantsColor } from '../logger';
import { renderError } from '../render-error';
import { type Interruption, listenForSignals } from './interruption';

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

const exitAnywayAfterMs = 2_000;

/** Runs a command to its exit code: signals, closed pipes and errors are answered here, for all commands alike. */
export async function runCommand(action: CommandAction): Promise<void> {
  const secrets = [process.env.HIGHWATER_API_TOKEN ?? ''];
  const stdoutClosed = new AbortController();
  process.stdout.on('error', () => stdoutClosed.abort());
  // Nobody reads stderr any more (EPIPE), or its terminal is gone: no reason to stop publishing.
  process.stderr.on('error', () => {});
  const interruption = listenForSignals();

  function report(error: unknown): number {
    process.stderr.write(renderError(error, { color: wantsColor(process.stderr), secrets }));
    return error instanceof HighwaterError ? error.kind.exit : 1;
  }
  // A rejection that nobody handles comes here too.
  process.on('uncaughtException', (error) => {
    const code = report(error);
    interruption.exitNow(code);
  });

  try {
    process.exitCode = await action({
      signal: AbortSignal.any([interruption.signal, stdoutClosed.signal]),
      beforeForcedExit: interruption.beforeForcedExit,
      print: (text) => print(text, stdoutClosed.signal),
      note: (text) => void process.stderr.write(text),
      hide: (more) => void secrets.push(...more),
    });
  } catch (error) {
    process.exitCode = report(error);
  } finally {
    interruption.stopListening();
  }
  // All is closed by now and the process ends by itself; a connection that lingers must not hold it up.
  later(() => process.exit(), exitAnywayAfterMs).unref();
}

/** A reader that is slower than the log holds the command up instead of filling the memory. */
async function print(text: string, closed: AbortSignal): Promise<void> {
  if (closed.aborted || process.stdout.write(text)) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      process.stdout.off('drain', done);
      closed.removeEventListener('abort', done);
      resolve();
    };
    process.stdout.once('drain', done);
    closed.addEventListener('abort', done, { once: true });
  });
}
