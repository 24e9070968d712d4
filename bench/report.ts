import type { Contender } from './contender';
import { mebibytes, median, ratio, short, whole } from './measure/figures';
import { type Column, table } from './measure/table';
import type { Measured } from './measured';
import type { Outcome } from './rounds';

const columns: readonly Column[] = [
  { head: '', align: 'left' },
  { head: 'records/s best / median', align: 'right' },
  { head: 'x peer', align: 'right' },
  { head: 'µs CPU least / median', align: 'right' },
  { head: 'x peer', align: 'right' },
  { head: 'RSS MiB', align: 'right' },
];

/** The least and the middle of what all runs of a contender took for a record. */
interface Costs {
  readonly wallUs: Pair;
  readonly cpuUs: Pair;
}

interface Pair {
  readonly best: number;
  readonly median: number;
}

/**
 * One table: each contender's best and median run, and how they compare to the best peer that does the whole job: best with
 * best, median with median.
 */
export function report(outcomes: readonly Outcome[]): string {
  const measured = outcomes.filter(({ runs }) => runs.length > 0);
  const peers = measured.filter(({ contender }) => contender.role === 'peer').map(({ runs }) => costs(runs));
  const peer = peers.length === 0 ? null : bestOf(peers);
  const rows: string[][] = [];
  let heading = '';
  for (const outcome of measured) {
    const next = headings[outcome.contender.role];
    if (next !== heading) rows.push([next]);
    heading = next;
    rows.push(row(outcome, peer));
  }
  const failures = outcomes.filter(({ failure }) => failure !== null);
  const notes = failures.map(({ contender, failure }) => `${contender.title}: ${failure}\n`);
  return [table(columns, rows), ...notes].join('');
}

const headings: Readonly<Record<Contender['role'], string>> = {
  ours: 'highwater: event and image of each record exactly once, into Kafka but for the last',
  peer: 'peers: the whole job (diff, transitions, Avro) at least once, into Kafka',
  'lesser peer': 'peers: a part of it',
  limit: 'limits: one step alone',
};

function row({ contender, runs }: Outcome, peer: Costs | null): string[] {
  const { wallUs, cpuUs } = costs(runs);
  const rate = (us: number) => 1_000_000 / us;
  const [against, ofCpu] =
    peer === null
      ? ['', '']
      : [
          `${ratio(peer.wallUs.best, wallUs.best)} / ${ratio(peer.wallUs.median, wallUs.median)}`,
          `${ratio(cpuUs.best, peer.cpuUs.best)} / ${ratio(cpuUs.median, peer.cpuUs.median)}`,
        ];
  return [
    `  ${contender.title}`,
    `${whole(rate(wallUs.best))} / ${whole(rate(wallUs.median))}`,
    against,
    `${short(cpuUs.best)} / ${short(cpuUs.median)}`,
    ofCpu,
    mebibytes(Math.max(...runs.map(({ peakRssBytes }) => peakRssBytes))),
  ];
}

function costs(runs: readonly Measured[]): Costs {
  const perRecord = (of: (run: Measured) => number): Pair => {
    const values = runs.map((run) => (of(run) / run.records) * 1_000);
    return { best: Math.min(...values), median: median(values) };
  };
  return { wallUs: perRecord(({ wallMs }) => wallMs), cpuUs: perRecord(({ cpuMs }) => cpuMs) };
}

/** The best of each figure, whichever peer has it. */
function bestOf(peers: readonly Costs[]): Costs {
  const least = (of: (costs: Costs) => number) => Math.min(...peers.map(of));
  return {
    wallUs: { best: least((one) => one.wallUs.best), median: least((one) => one.wallUs.median) },
    cpuUs: { best: least((one) => one.cpuUs.best), median: least((one) => one.cpuUs.median) },
  };
}
