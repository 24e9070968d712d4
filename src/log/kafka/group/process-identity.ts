import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Where a process runs, so that another one of the same place can tell whether it still does. */
export interface ProcessIdentity {
  /** Of the boot of the machine and the container: a pid means the same process in one place only. */
  readonly place: string;
  readonly pid: number;
}

export function ownIdentity(): ProcessIdentity {
  const parts = [
    () => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
    () => readlinkSync('/proc/self/ns/pid'),
  ];
  return { place: [hostname(), ...parts.map(orNothing)].join(' '), pid: process.pid };
}

/** For certain: false of a process elsewhere, and of one whose pid another has by now. */
export function hasEnded({ place, pid }: ProcessIdentity): boolean {
  if (place !== ownIdentity().place) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/** Linux has them; elsewhere a host name is all there is. */
function orNothing(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}
