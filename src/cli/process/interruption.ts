import { constants } from 'node:os';
import { isatty } from 'node:tty';

export interface Interruption {
  /** Aborted by the first signal: finish the work in hand. */
  readonly signal: AbortSignal;
  /** Registers what must be done however the process ends, also when the second signal ends it at once; it cannot wait. */
  beforeExit(cleanUp: () => void): void;
}

const signals = ['SIGINT', 'SIGTERM'] as const;

/** How often a process that npx started looks whether npx still runs, in ms. */
const parentEveryMs = 500;

// Ctrl-C reaches the whole process group, and npm (as `npx highwater`) passes its own copy on: one key, two signals.
const sameKeyMs = 100;

/**
 * Listens to this process until it ends.
 * @param report writes an uncaught error, or a rejection that nothing handles, and returns the exit code
 */
export function processInterruption(report: (error: unknown) => number): Interruption {
  const first = new AbortController();
  let firstName: NodeJS.Signals | null = null;
  let firstAt = 0;

  function onSignal(name: NodeJS.Signals): void {
    if (firstName === null) {
      firstName = name;
      firstAt = performance.now();
      first.abort();
    } else if (name !== firstName || performance.now() - firstAt >= sameKeyMs) {
      process.exit(128 + constants.signals[name]);
    }
  }
  for (const name of signals) process.on(name, onSignal);
  // SIGHUP says that the terminal has closed. Node.js resets the signals that `nohup` had set to be ignored, and does not tell
  // which they were; but `nohup` leaves a program no terminal.
  process.on('SIGHUP', hasTerminal() ? onSignal : () => undefined);
  // npx passes SIGTERM only to the shell between itself and this process, and the shell ends without a word.
  if (process.env.npm_command === 'exec') onParentGone(() => onSignal('SIGTERM'));
  process.on('uncaughtException', (error) => process.exit(report(error)));

  return { signal: first.signal, beforeExit: (cleanUp) => void process.once('exit', cleanUp) };
}

function onParentGone(end: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    end();
  }, parentEveryMs).unref();
}

function hasTerminal(): boolean {
  return [0, 1, 2].some((descriptor) => isatty(descriptor));
}
