import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/**
 * The machine and process of an instance. Another process on the same machine can check whether it still runs. A publisher that is
 * killed and started again on the same machine has its feeds back after 1.4 s, and without this after 9.7 s: it waits for the
 * session timeout (10 s). In another container it waits all the same.
 */
export interface ProcessIdentity {
  /**
   * Identifies the boot of the machine and the container: a pid means the same process in one place only. Null: not
   * known.
   */
  readonly place: string | null;
  readonly pid: number;
}

export function ownIdentity(): ProcessIdentity {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return { place: `${hostname()} ${boot} ${readlinkSync('/proc/self/ns/pid')}`, pid: process.pid };
  } catch {
    // Only Linux has these files. Elsewhere two machines may have one name.
    return { place: null, pid: process.pid };
  }
}

/** For certain: false of a process elsewhere, and of one whose pid another has by now. */
export function hasEnded({ place, pid }: ProcessIdentity): boolean {
  if (place === null || place !== ownIdentity().place) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}
