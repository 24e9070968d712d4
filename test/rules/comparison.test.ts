import { readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.join(__dirname, '..', '..');
const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
const page = read('docs/comparison.md');

/** The cells of a row of a table, without its first. */
function cells(row: string): string[] {
  return row
    .split('|')
    .slice(2, -1)
    .map((cell) => cell.trim());
}

describe('docs/comparison.md', () => {
  it('quotes the figures of one run of the benchmark as bench/README.md has them', () => {
    const run = read('bench/README.md').split('\n');
    const measured = page.split('\n').filter((line) => /^\| (highwater, |Benthos 4)/.test(line));
    expect(measured).toHaveLength(6);
    for (const row of measured) {
      const [, best, cpu, rss] = cells(row);
      const found = run.filter((line) => new RegExp(` ${best} / .* ${cpu} / .* ${rss}$`).test(line));
      expect([row, found.length]).toEqual([row, 1]);
      const [name] = row.slice(2).split(/,| \|/);
      expect(found[0]).toContain(name);
    }
    const [ofTable, , , ofPeer] = cells(page.split('\n').find((line) => line.startsWith('| **into Kafka'))!);
    expect(cells(measured[0]!)[1]).toBe(ofTable);
    expect(ofPeer).toMatch(`${cells(measured[3]!)[1]}[^measured]`);
  });
});
