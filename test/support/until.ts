import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Waits for a condition; fails at the deadline with what it last saw. The deadline is for a machine that is busy with other things:
 * it says that something has gone wrong, never how fast it should have been.
 */
export async function until(condition: () => boolean | Promise<boolean>, deadlineMs = 60_000): Promise<void> {
  const end = Date.now() + deadlineMs;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`still not so after ${deadlineMs} ms: ${condition.toString()}`);
    await sleep(10);
  }
}
