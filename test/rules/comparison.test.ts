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

it('docs/comparison.md quotes the best run of the benchmark as bench/README.md has it', () => {
  const run = read('bench/README.md').split('\n');
  const [own, , , peer] = cells(page.split('\n').find((line) => line.startsWith('| **into Kafka'))!);
  const bestOf = (row: string, figure: string) =>
    run.some((line) => line.trim().startsWith(row) && line.includes(` ${figure} / `));
  expect(bestOf('highwater, lz4', own!)).toBe(true);
  expect(bestOf('Benthos 4.27 on two cores, lz4', peer!.replace('[^measured]', ''))).toBe(true);
});
