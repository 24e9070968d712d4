import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { errorKinds } from '../../src/errors';
import { root } from '../support/build';
import { type FencedBlock, fencedBlocks } from '../support/samples';

/** Languages of blocks that a reader writes, and of code. Blocks of all others show what a program prints. */
const written = ['sh', 'ts', 'js', 'json', 'yaml', 'yml', 'sql', 'xml', 'properties', 'python'];

/** Output that no suite makes, by page, with the reason. */
const others: Readonly<Record<string, string>> = {
  'bench/README.md': 'figures of one machine: `npm run bench` writes them into its results',
  'examples/ipo-alerts/README.md': 'lines of an example: test/examples/ipo-alerts.test.ts',
  'examples/rating-alerts/README.md': 'lines of an example: test/examples/rating-alerts.test.ts',
  'examples/event-sourced-analytics/README.md': 'rows of a query: test/outside/duckdb.ts runs it',
};

const suites = readdirSync(path.join(root, 'test'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => readFileSync(path.join(root, 'test', name), 'utf8'));

/** Why a block may be stale without a test that fails; null: it may not. */
function unchecked({ page, language, name, text }: FencedBlock): string | null {
  if (name !== '')
    return suites.some((suite) => suite.includes(`('${name}'`)) ? null : `no suite makes the sample ${name}`;
  if (written.includes(language) || page in others) return null;
  return `this output has no name: ${text.split('\n')[0]}`;
}

it('what documents show of a run is made by a suite', () => {
  const found = fencedBlocks().flatMap((block) => {
    const why = unchecked(block);
    return why === null ? [] : [`${block.page}: ${why}`];
  });
  expect(found).toStrictEqual([]);
});

/** `CODE: remedy`, for each error whose remedy a sample shows. */
function remedies(text: string): string[] {
  const shown = text
    .replaceAll(/\s+/g, ' ')
    .matchAll(/do: ((?:(?! do: ).)*?) \(`highwater explain (\w+)`\)/g);
  return [...shown].map(([, remedy, code]) => `${code}: ${remedy}`);
}

it('samples show the remedies of the table of errors, also samples of suites that need Kafka', () => {
  const known = Object.entries(errorKinds).map(([code, { remedy }]) => `${code}: ${remedy}`);
  const shown = fencedBlocks().flatMap(({ text }) => remedies(text));
  expect(shown.length).toBeGreaterThan(5);
  expect(shown.filter((one) => !known.includes(one))).toStrictEqual([]);
});

it('a sample without a name, or whose name no suite has, is found', () => {
  const block = { page: 'docs/x.md', language: 'text', name: '', text: '$ highwater status\n' };
  expect(unchecked(block)).toBe('this output has no name: $ highwater status');
  expect(unchecked({ ...block, language: '' })).not.toBeNull();
  expect(unchecked({ ...block, name: 'no-such-sample' })).toBe('no suite makes the sample no-such-sample');
  expect(unchecked({ ...block, language: 'sh' })).toBeNull();
});

it('names of samples are unique, and pages without a suite still have output', () => {
  const blocks = fencedBlocks();
  const names = blocks.flatMap(({ name }) => (name === '' ? [] : [name]));
  expect(names).toEqual([...new Set(names)]);
  const pages = blocks.filter(({ language, name }) => name === '' && !written.includes(language));
  expect(Object.keys(others).filter((page) => !pages.some((one) => one.page === page))).toStrictEqual([]);
});
