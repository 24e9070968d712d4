import { setTimeout as delay } from 'node:timers/promises';

/** Asks again and again until it is so. @throws Error with `explain` when it is not by the deadline */
export async function until(
  what: string,
  isSo: () => boolean | Promise<boolean>,
  deadlineMs: number,
  explain: () => string = () => '',
): Promise<void> {
  const end = Date.now() + deadlineMs;
  while (!(await isSo())) {
    if (Date.now() > end) throw new Error(`${what}: not within ${deadlineMs} ms. ${explain()}`);
    await delay(20);
  }
}
