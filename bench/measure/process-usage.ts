import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** What a process has taken since it started. */
export interface ProcessUsage {
  /** User and system time, of all its threads. */
  readonly cpuMs: number;
  /** The most memory that it had in use at once (on macOS: that it has now, look often). */
  readonly peakRssBytes: number;
}

/** Of a process on this machine. @throws when it is not there, or the system is neither Linux nor macOS */
export function processUsage(pid: number): ProcessUsage {
  switch (process.platform) {
    case 'linux':
      return ofProc(pid);
    case 'darwin':
      return ofPs(pid);
    default:
      throw new Error(
        `CPU and memory of a process are read from /proc (Linux) or ps (macOS): there is no way yet on ${process.platform}.`,
      );
  }
}

/** Linux counts in hundredths of a second, whatever its own clock does. */
const TICK_MS = 10;

function ofProc(pid: number): ProcessUsage {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name of the program stands in parentheses, and may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [userTicks, systemTicks] = [Number(fields[11]), Number(fields[12])];
  const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return { cpuMs: (userTicks + systemTicks) * TICK_MS, peakRssBytes: Number(peak ?? 0) * 1_024 };
}

function ofPs(pid: number): ProcessUsage {
  const text = execFileSync('ps', ['-o', 'time=,rss=', '-p', String(pid)], { encoding: 'utf8' });
  const [time = '', rss = ''] = text.trim().split(/\s+/);
  // `2-03:04:05.67`, from the right as far as it is long.
  const parts = time.split(/[:-]/).map(Number).reverse();
  const seconds = parts.reduce((sum, part, i) => sum + part * [1, 60, 3_600, 86_400][i]!, 0);
  return { cpuMs: seconds * 1_000, peakRssBytes: Number(rss) * 1_024 };
}
