import type { Contender } from '../../bench/contender';
import { report } from '../../bench/report';
import type { Outcome } from '../../bench/rounds';

/** Runs of 1,000 records, each with its wall and CPU in ms. */
function outcome(title: string, role: Contender['role'], ...runs: (readonly [number, number])[]): Outcome {
  const contender: Contender = { name: title, title, role, run: () => Promise.reject(new Error('not here')) };
  return {
    contender,
    runs: runs.map(([wallMs, cpuMs]) => ({ records: 1_000, wallMs, cpuMs, peakRssBytes: 2 ** 20 * wallMs })),
    failure: runs.length === 0 ? 'not run: Go is not installed' : null,
  };
}

const cellsOf = (text: string, title: string) =>
  text
    .split('\n')
    .find((line) => line.trim().startsWith(`${title} `))
    ?.trim()
    .split(/ {2,}/);

describe('the table of the benchmark', () => {
  const ours = outcome('ours', 'ours', [50, 20], [20, 30], [25, 25]);
  const slow = outcome('slow', 'peer', [400, 100], [200, 110], [300, 120]);
  const quick = outcome('quick', 'peer', [100, 210], [125, 200], [150, 220]);

  it('shows the best and the middle run, and the most memory of all', () => {
    expect(cellsOf(report([ours]), 'ours')).toEqual(['ours', '50,000 / 40,000', '20.0 / 25.0', '50']);
  });

  it('compares each with the best peer: best with best, middle with middle, whichever peer has it', () => {
    expect(cellsOf(report([ours, slow, quick]), 'ours')).toEqual([
      'ours',
      '50,000 / 40,000',
      '5.00x / 5.00x',
      '20.0 / 25.0',
      '0.20x / 0.23x',
      '50',
    ]);
  });

  it('takes no peer that does a part of the job for the best', () => {
    const lesser = outcome('lesser', 'lesser peer', [1, 1]);
    expect(cellsOf(report([ours, quick, lesser]), 'ours')?.[2]).toBe('5.00x / 5.00x');
  });

  it('names what was not run', () => {
    expect(report([ours, outcome('Benthos', 'peer')])).toContain('Benthos: not run: Go is not installed\n');
  });
});
