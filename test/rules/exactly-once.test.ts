import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.join(__dirname, '..', '..');
const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
const page = read('docs/exactly-once.md');
const notes = [...page.matchAll(/^\[\^(\w+)\]: (.+)$/gm)].map(([, name, text]) => ({
  name: name!,
  tests: text!.split(/; (?=`test\/)/).map((one) => /^`([^`]+)` › (.+)$/.exec(one)!.slice(1)),
}));

/** Of all tests and groups of tests in a file. */
function titles(file: string): string[] {
  return [...read(file).matchAll(/\b(?:it|describe)(?:\.each[\s\S]*?\)\s*)?\(\s*(['"`])([\s\S]*?)\1/g)].map(
    ([, , title]) => title!,
  );
}

describe('docs/exactly-once.md', () => {
  it('has a note for each reference to one, and a reference to each note', () => {
    const references = [...page.matchAll(/\[\^(\w+)\](?!:)/g)].map(([, name]) => name);
    expect(notes.length).toBeGreaterThan(0);
    expect(references).toEqual(notes.map(({ name }) => name));
  });

  it.each(notes.map(({ name, tests }) => [name, tests] as const))('%s names tests that exist', (_, tests) => {
    for (const [file, name] of tests) {
      expect({ file, titles: titles(file!) }).toEqual({
        file,
        titles: expect.arrayContaining([expect.stringContaining(name!)]),
      });
    }
  });

  it('links to files that exist', () => {
    const links = [...page.matchAll(/\]\(([^)#:]+)[^)]*\)/g)].map(([, link]) => link!);
    expect(links.filter((link) => !existsSync(path.join(root, 'docs', link)))).toEqual([]);
  });
});
