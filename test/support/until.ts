import { setTimeout as sleep } from 'node:timers/promises';

/**
 * After this time a test gives up waiting for a process or a server. It is long enough for a machine on which ten other programs
 * want each core: a test that reaches it has found a fault, not a slow machine.
 */
export const DEADLINE_MS = 180_000;

/** Waits for a condition. @throws at the deadline, with the condition that does not hold */
export async function until(
  condition: () => boolean | Promise<boolean>,
  deadlineMs = DEADLINE_MS,
  pauseMs = 10,
): Promise<void> {
  const end = Date.now() + deadlineMs;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`still not so after ${deadlineMs} ms: ${condition.toString()}`);
    await sleep(pauseMs);
  }
}
