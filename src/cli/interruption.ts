import { constants } from 'node:os';

export interface Interruption {
  /** Aborted by the first signal: finish what is under way. */
  readonly signal: AbortSignal;
  /** Registers what the second signal, which ends the process at once, must still do; it cannot wait for anything. */
  beforeForcedExit(cleanUp: () => void): void;
  exitNow(code: number): never;
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

// Ctrl-C reaches the whole process group, and npm (as `npx highwater`) passes its own copy on: one key, two signals.
const sameKeyMs = 100;

/** Listens until the process ends. */
export function listenForSignals(): Interruption {
  const first = new AbortController();
  const cleanUps: (() => void)[] = [];
  let firstName: NodeJS.Signals | null = null;
  let firstAt = 0;

  function exitNow(code: number): never {
    for (const cleanUp of cleanUps.splice(0)) cleanUp();
    process.exit(code);
  }
  function onSignal(name: NodeJS.Signals): void {
    if (firstName === null) {
      firstName = name;
      firstAt = performance.now();
      first.abort();
    } else if (name !== firstName || performance.now() - firstAt >= sameKeyMs) {
      exitNow(128 + constants.signals[name]);
    }
  }
  for (const name of signals) process.on(name, onSignal);

  return { signal: first.signal, beforeForcedExit: (cleanUp) => void cleanUps.push(cleanUp), exitNow };
}
