import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for a condition; fails at the deadline with what it last saw. */
export async function until(condition: () => boolean | Promise<boolean>, deadlineMs = 20_000): Promise<void> {
  const end = Date.now() + deadlineMs;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`still not so after ${deadlineMs} ms: ${condition.toString()}`);
    await sleep(10);
  }
}
