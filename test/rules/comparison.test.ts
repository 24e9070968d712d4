import { existsSync, readFileSync } from 'node:fs';
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
  it('quotes the figures of highwater as bench/README.md has them', () => {
    const bench = read('bench/README.md');
    const measured = page.split('\n').filter((line) => /^\| highwater, /.test(line));
    expect(measured).toHaveLength(2);
    for (const row of measured) {
      const [, ...figures] = cells(row);
      expect(figures).toHaveLength(3);
      const line = new RegExp(`first snapshot.* ${figures[0]} / .* ${figures[1]} +${figures[2]}$`, 'm');
      expect(bench).toMatch(line);
    }
    const [ofTable] = cells(page.split('\n').find((line) => line.startsWith('| **into Kafka'))!);
    expect(cells(measured[0]!)[1]).toBe(ofTable);
  });

  it('has each note, and refers to each', () => {
    const names = (pattern: RegExp) => new Set([...page.matchAll(pattern)].map(([, name]) => name));
    expect(names(/\[\^([\w-]+)\](?!:)/g)).toEqual(names(/^\[\^([\w-]+)\]:/gm));
  });

  it('links to files that exist', () => {
    const links = [...page.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, link]) => link!);
    expect(links.length).toBeGreaterThan(5);
    expect(links.filter((link) => !existsSync(path.join(root, 'docs', link)))).toEqual([]);
  });
});
