import { existsSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import path from 'node:path';
import { samplesOf } from '../support/metrics-text';
import type { CliProcess } from './cli-process';

/** A publisher at one moment. */
export interface Sample {
  /** Part of the run that is over, 0 to 1. */
  readonly share: number;
  readonly pid: number;
  /** Since it was first looked at. */
  readonly ageMs: number;
  readonly rssMb: number;
  readonly heapMb: number;
  /** Descriptors of sockets, and of everything else. */
  readonly sockets: number;
  readonly files: number;
  /** Since its start. */
  readonly cpuMs: number;
  readonly polls: number;
  readonly pollMs: number;
  readonly tracked: number;
  /** Of the embedded log; 0 where there is none. `freeMb`: the part of it that new records can use. */
  readonly logMb: number;
  readonly freeMb: number;
  readonly walMb: number;
}

const EVERY_MS = 2_000;
const MB = 1_000_000;

/** How far a quarter of the run is, 0 to 1. */
export function partOfQuarter(share: number): number {
  return (share * 4) % 1;
}

/**
 * Looks at the publisher's metrics and descriptors while there is one.
 * @param folder of the log
 * @param ms length of the run
 */
export function startSampling(
  publisher: () => CliProcess | null,
  folder: string,
  ms: number,
): { stop(): readonly Sample[] } {
  const begin = Date.now();
  const samples: Sample[] = [];
  let seen = { pid: 0, sinceMs: 0 };

  async function look(): Promise<void> {
    const one = publisher();
    const url = /Metrics at (http:\S+\/metrics)/.exec(one?.output() ?? '')?.[1];
    if (one === null || url === undefined) return;
    const { pid } = one;
    if (seen.pid !== pid) seen = { pid, sinceMs: Date.now() };
    const answer = await fetch(url, { signal: AbortSignal.timeout(EVERY_MS) });
    const text = await answer.text();
    const sum = (name: string): number =>
      samplesOf(text, name).reduce((total, { value }) => total + value, 0);
    const links = readdirSync(`/proc/${pid}/fd`).map((name) => linkOf(`/proc/${pid}/fd/${name}`));
    const sockets = links.filter((to) => to?.startsWith('socket:')).length;
    samples.push({
      share: (Date.now() - begin) / ms,
      pid,
      ageMs: Date.now() - seen.sinceMs,
      rssMb: sum('process_resident_memory_bytes') / MB,
      heapMb: sum('nodejs_heap_size_used_bytes') / MB,
      sockets,
      files: links.filter((to) => to !== null).length - sockets,
      cpuMs: sum('process_cpu_seconds_total') * 1_000,
      polls: sum('highwater_poll_duration_seconds_count'),
      pollMs: sum('highwater_poll_duration_seconds_sum') * 1_000,
      tracked: sum('highwater_tracked_records'),
      logMb: sizeOf(path.join(folder, 'highwater.db')),
      freeMb: sum('highwater_log_free_bytes') / MB,
      walMb: sizeOf(path.join(folder, 'highwater.db-wal')),
    });
  }

  // A publisher that was killed meanwhile gives no sample.
  const timer = setInterval(() => void look().catch(() => undefined), EVERY_MS);
  return {
    stop() {
      clearInterval(timer);
      return samples;
    },
  };
}

/** Null: it was closed meanwhile. */
function linkOf(descriptor: string): string | null {
  try {
    return readlinkSync(descriptor);
  } catch {
    return null;
  }
}

function sizeOf(file: string): number {
  return existsSync(file) ? statSync(file).size / MB : 0;
}

/** One quarter of a run. `old`: the process that lived longest in it, in the last third of its life. */
export interface Quarter {
  readonly samples: number;
  readonly youngRssMb: number;
  readonly oldRssMb: number;
  readonly oldHeapMb: number;
  readonly oldAgeS: number;
  /** The least of the old process: files that are open only for a moment do not count. */
  readonly files: number;
  readonly sockets: number;
  readonly cpuMsPerPoll: number;
  readonly msPerPoll: number;
  readonly tracked: number;
  readonly logMb: number;
  readonly freeMb: number;
  readonly walMb: number;
}

export function quartersOf(samples: readonly Sample[]): Quarter[] {
  return [0, 1, 2, 3].map((quarter) => {
    const own = samples.filter(({ share }) => share >= quarter / 4 && share < (quarter + 1) / 4);
    const samplesOfOne = (pid: number) => own.filter((one) => one.pid === pid);
    // The oldest one may be of the quarter before, and be killed at the beginning of this one.
    const life = own.map(({ pid }) => samplesOfOne(pid)).reduce((a, b) => (b.length > a.length ? b : a));
    const oldest = life.at(-1)!;
    const old = life.filter(({ ageMs }) => ageMs >= (oldest.ageMs * 2) / 3);
    const least = (of: readonly Sample[], figure: keyof Sample) => Math.min(...of.map((one) => one[figure]));
    const most = (figure: keyof Sample) => Math.max(...own.map((one) => one[figure]));
    const first = life[0]!;
    const polls = oldest.polls - first.polls;
    return {
      samples: own.length,
      youngRssMb: median(own.filter(({ pid }) => pid !== oldest.pid).map(({ rssMb }) => rssMb)),
      oldRssMb: median(old.map(({ rssMb }) => rssMb)),
      oldHeapMb: least(old, 'heapMb'),
      oldAgeS: oldest.ageMs / 1_000,
      files: least(old, 'files'),
      sockets: most('sockets'),
      cpuMsPerPoll: (oldest.cpuMs - first.cpuMs) / polls,
      msPerPoll: (oldest.pollMs - first.pollMs) / polls,
      tracked: median(own.map(({ tracked }) => tracked)),
      logMb: most('logMb'),
      freeMb: median(own.map(({ freeMb }) => freeMb)),
      walMb: most('walMb'),
    };
  });
}

function median(figures: readonly number[]): number {
  return [...figures].sort((a, b) => a - b)[figures.length >> 1] ?? Number.NaN;
}

export function quarterTable(quarters: readonly Quarter[]): string {
  const rows: readonly [string, keyof Quarter, number][] = [
    ['samples', 'samples', 0],
    ['RSS of young processes, MB, half', 'youngRssMb', 0],
    ['RSS of the oldest, MB, half', 'oldRssMb', 0],
    ['heap of the oldest, MB, least', 'oldHeapMb', 0],
    ['age of the oldest, s', 'oldAgeS', 0],
    ['descriptors but sockets, oldest', 'files', 0],
    ['sockets at most', 'sockets', 0],
    ['CPU of the oldest, ms a poll', 'cpuMsPerPoll', 1],
    ['duration of a poll, ms', 'msPerPoll', 1],
    ['records tracked, half', 'tracked', 0],
    ['highwater.db at most, MB', 'logMb', 1],
    ['of it free, MB, half', 'freeMb', 1],
    ['highwater.db-wal at most, MB', 'walMb', 1],
  ];
  const line = (title: string, cells: readonly string[]) =>
    title.padEnd(36) + cells.map((cell) => cell.padStart(8)).join('');
  return [
    line('quarter', ['1', '2', '3', '4']),
    ...rows.map(([title, figure, digits]) =>
      line(
        title,
        quarters.map((quarter) => quarter[figure].toFixed(digits)),
      ),
    ),
  ].join('\n');
}
