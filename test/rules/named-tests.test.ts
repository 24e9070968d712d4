import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { namedTests, namedTestsThatNeverRun, titlesThatRun } from '../support/named-tests';

const root = path.join(__dirname, '..', '..');
const pages = [
  ...readdirSync(root),
  ...readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' }).map(
    (name) => `docs/${name}`,
  ),
].filter((name) => name.endsWith('.md'));
const citing = pages
  .map((page) => ({ page, text: readFileSync(path.join(root, page), 'utf8') }))
  .filter(({ text }) => namedTests(text).length > 0);

it.each(citing)('$page names only tests that run', ({ text }) => {
  expect(namedTestsThatNeverRun(text)).toStrictEqual([]);
});

it('a test counts only if it runs whenever its suite does', () => {
  const text = `
    // it('in a comment', () => {});
    it('plain', async () => {});
    it.each([1])('of a table', () => {});
    it.skip('skipped', () => {});
    it.todo('still to do');
    xit('crossed out', () => {});
    if (process.env.DOCKER) it('behind a condition', () => {});
    (process.env.DOCKER ? describe : describe.skip)('a choice', () => { it('of a choice', () => {}); });
    describe('a group', () => { it('in a group', () => {}); });
    describe('an empty group', () => { it.skip('skipped in a group', () => {}); });
    describe.skip('a skipped group', () => { it('in a skipped group', () => {}); });
    export function contract() { describe(\`of \${name}\`, () => { it('of a contract', () => {}); }); }
  `;
  const titles = ['plain', 'of a table', 'in a group', 'a group', 'of a contract', 'of '];
  expect(titlesThatRun(text)).toEqual(titles);
});

it('a test is found by its file and its title, and a file only if npm test runs it', () => {
  const [suite, title] = ['`test/rules/named-tests.test.ts`', 'names only tests that run'];
  expect(namedTestsThatNeverRun(`${suite} › ${title}; \`test/contract/commit-log.ts\``)).toStrictEqual([]);
  expect(namedTestsThatNeverRun(`${suite} › names no tests at all`)).toHaveLength(1);
  expect(namedTestsThatNeverRun('`test/soak/crash.soak.ts` › survives the soak')).toHaveLength(1);
  expect(namedTestsThatNeverRun('`test/rules/no-such.test.ts`')).toHaveLength(1);
});
