import { setTimeout as delay } from 'node:timers/promises';
import type { Simulator } from '../../src/simulator/simulator';
import { DEADLINE_MS } from '../support/until';
import type { CliProcess } from './cli-process';
import type { PublisherLog } from './publisher-log';

/** When a process is killed: so many ms after something that its log can tell has happened for the n-th time. */
export interface KillMoment {
  /** `request`: the publisher asks the API, and waits for the answer or works on it. Others: see the log. */
  readonly at: string;
  readonly nth: number;
  readonly delayMs: number;
  /** It is asked to stop first, and killed so many ms later, if it has not ended by then. */
  readonly stopMs?: number;
}

/** Kills the process when the moment has come. @throws Error when it ends by itself, or the moment never comes */
export async function killAt(
  moment: KillMoment,
  cli: CliProcess,
  { sim, log }: { sim: Simulator; log: PublisherLog },
): Promise<void> {
  const come = new AbortController();
  const strike = () => cli.signal(moment.stopMs === undefined ? 'SIGKILL' : 'SIGTERM');
  let left = moment.nth;
  const hit = (): boolean => {
    if (--left !== 0) return false;
    // At once, in the callback: the commit that was just heard of is over in a millisecond.
    if (moment.delayMs === 0) strike();
    come.abort();
    return moment.delayMs === 0;
  };
  const stop = log.watch(moment.at, sim, hit);
  try {
    const ended = cli.exited.then((code) => {
      if (!come.signal.aborted) throw new Error(`the publisher ended with ${code}: ${cli.output()}`);
    });
    const waited = delay(DEADLINE_MS, undefined, { signal: come.signal, ref: false }).then(
      () => {
        throw new Error(`${JSON.stringify(moment)} did not come within ${DEADLINE_MS} ms: ${cli.output()}`);
      },
      () => undefined,
    );
    await Promise.race([waited, ended]);
    if (moment.delayMs > 0) {
      await delay(moment.delayMs);
      strike();
    }
    if (moment.stopMs !== undefined) await Promise.race([delay(moment.stopMs), cli.exited]);
    cli.signal('SIGKILL');
    await cli.exited;
  } finally {
    stop();
  }
}
