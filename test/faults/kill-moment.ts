import { watch } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../src/simulator/random';
import type { Simulator } from '../../src/simulator/simulator';
import type { CliProcess } from './cli-process';

/**
 * When a process is killed: so many ms after its n-th request has arrived (the poll waits for the answer or works on it);
 * or when it writes to the log's WAL for the n-th time, which SQLite does in the middle of a commit: counted from the start
 * (it opens the log and claims its feeds) or from its first request.
 */
export interface KillMoment {
  readonly at: 'request' | 'commit' | 'start';
  readonly nth: number;
  readonly delayMs: number;
}

/** @param early soon after the start: in a first snapshot */
export function drawMoment(random: Random, early: boolean): KillMoment {
  const at = random.pick(['request', 'request', 'commit', 'commit', 'commit', 'start'] as const);
  switch (at) {
    case 'request':
      return { at, nth: early ? random.int(3, 12) : random.int(20, 90), delayMs: random.int(0, 20) };
    case 'commit':
      return { at, nth: early ? random.int(1, 10) : random.int(5, 80), delayMs: 0 };
    case 'start':
      return { at, nth: random.int(1, 30), delayMs: 0 };
  }
}

const deadlineMs = 20_000;

/** Kills the process when the moment has come. @throws Error when it ends by itself, or the moment never comes */
export async function killAt(
  moment: KillMoment,
  cli: CliProcess,
  { sim, dataDir }: { sim: Simulator; dataDir: string },
): Promise<void> {
  const come = new AbortController();
  let left = moment.nth;
  const count = (): void => {
    if (--left > 0) return;
    // At once, in the callback: the commit that was just heard of is over in a millisecond.
    if (moment.delayMs === 0) cli.signal('SIGKILL');
    come.abort();
  };
  let isReading = moment.at === 'start';
  const watcher = watch(dataDir, (_event, name) => {
    if (moment.at !== 'request' && isReading && name === 'highwater.db-wal') count();
  });
  sim.onRequest(() => {
    isReading = true;
    if (moment.at === 'request') count();
  });
  try {
    const ended = cli.exited.then((code) => {
      if (!come.signal.aborted) throw new Error(`the publisher ended with ${code}: ${cli.output()}`);
    });
    const waited = delay(deadlineMs, undefined, { signal: come.signal, ref: false }).then(
      () => {
        throw new Error(`${JSON.stringify(moment)} did not come within ${deadlineMs} ms: ${cli.output()}`);
      },
      () => undefined,
    );
    await Promise.race([waited, ended]);
    if (moment.delayMs > 0) await delay(moment.delayMs);
    cli.signal('SIGKILL');
    await cli.exited;
  } finally {
    watcher.close();
    sim.onRequest(null);
  }
}
