import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.join(__dirname, '..', '..');

/** Constructions of a literal translation, and what to write instead. */
const constructions: readonly { readonly pattern: RegExp; readonly instead: string }[] = [
  {
    // `I9 alone` is the name of an invariant.
    pattern: /(?<!\b(?:leave|leaves|left|let|I9)\b.*)\balone(?=[.,;:)]|$)/i,
    instead: '"only" before the word it limits',
  },
  { pattern: /\bmend(?:s|ed|ing)?\b/i, instead: '"fix"' },
  {
    pattern: /(?<!\bthere )\b(?:is|are) no (?!(?:long|young|old|fin|lat)er\b|more\b|less\b)\w/i,
    instead: '"is not a", "has no" or a verb',
  },
  { pattern: /^(?:Of|Who) [^?]*$/, instead: 'the subject, then the verb' },
  { pattern: /^What [^?]* (?:is|are)\b[^?]*$/, instead: 'the noun, not "what"' },
  { pattern: /\bthose (?:that|who)\b/i, instead: 'the noun, not "those"' },
  { pattern: /\bsuch is\b/i, instead: 'the noun, not "such"' },
];

it.each([
  ['It is published by the owner alone.', '"only" before the word it limits'],
  ['A feed mends itself.', '"fix"'],
  ['A fence is no record.', '"is not a", "has no" or a verb'],
  ['Of a pause nothing is left.', 'the subject, then the verb'],
  ['What is long is refused.', 'the noun, not "what"'],
  ['It drops those that came late.', 'the noun, not "those"'],
])('%s: write %s', (sentence, instead) => {
  expect(mistakes('a.md', [{ line: 1, text: sentence }])).toEqual([`a.md:1 write ${instead}: ${sentence}`]);
});

it('good English passes', () => {
  const text = 'Leave it alone. There is no lag. It is no longer read. What is a fence? `mend` stays.';
  expect(mistakes('a.md', [{ line: 1, text }])).toStrictEqual([]);
});

const inRoot = readdirSync(root).filter((file) => file.endsWith('.md'));
const documents = [...inRoot, ...filesIn(['docs', 'examples', 'bench', 'schemas'], /\.md$/)];

it('documents are in plain English', () => {
  const found = documents.flatMap((file) => mistakes(file, paragraphs(read(file))));
  expect(found).toStrictEqual([]);
});

it('finds a row with other cells than its head, and a long cell', () => {
  const long = 'x'.repeat(MOST_OF_A_CELL + 1);
  const page = `| a | b |\n|---|---|\n| \`c\\|d\` | [e](${long}) |\n| f | g | h |\n| ${long} | i |`;
  expect(wrongRows('a.md', page)).toEqual([
    'a.md:4 has 3 cells instead of 2',
    'a.md:5 has a cell of 201 characters: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
  ]);
});

it('rows of tables have as many cells as their head, each of a sentence or two', () => {
  const written = documents.filter((file) => !file.startsWith('docs/events/'));
  expect(written.flatMap((file) => wrongRows(file, read(file)))).toStrictEqual([]);
});

it('comments are in plain English', () => {
  const found = filesIn(['src'], /(?<!consumer\/schemas)\.tsx?$/).flatMap((file) =>
    mistakes(file, comments(read(file))),
  );
  expect(found).toStrictEqual([]);
});

it('the words that the spelling check knows are sorted, each once', () => {
  const words = read('cspell-words.txt').trimEnd().split('\n');
  const sorted = [...new Set(words)].toSorted((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1));
  expect(words).toEqual(sorted);
});

interface Passage {
  readonly line: number;
  readonly text: string;
}

function mistakes(file: string, passages: readonly Passage[]): string[] {
  return passages.flatMap(({ line, text }) =>
    text.split(/(?<=[.!?]['")*]*) +(?=[A-Z`*["(])/).flatMap((sentence) => {
      const prose = sentence.replaceAll(/`[^`]*`/g, '`code`');
      return constructions
        .filter(({ pattern }) => pattern.test(prose))
        .map(({ instead }) => `${file}:${line} write ${instead}: ${sentence}`);
    }),
  );
}

const MOST_OF_A_CELL = 200;

/** Rows that a stray `|` has broken, and cells that are paragraphs. Targets of links do not count. */
function wrongRows(file: string, page: string): string[] {
  let columns: number | null = null;
  return withoutCode(page)
    .split('\n')
    .flatMap((line, index) => {
      if (!/^\s*\|/.test(line)) {
        columns = null;
        return [];
      }
      const cells = line
        .trim()
        .split(/(?<!\\)\|/)
        .slice(1, -1);
      columns ??= cells.length;
      const place = `${file}:${index + 1}`;
      const wrong =
        cells.length === columns ? [] : [`${place} has ${cells.length} cells instead of ${columns}`];
      const long = cells
        .map((cell) => cell.trim().replaceAll(/\]\([^)]*\)/g, ']'))
        .filter((cell) => cell.length > MOST_OF_A_CELL)
        .map((cell) => `${place} has a cell of ${cell.length} characters: ${cell.slice(0, 40)}`);
      return [...wrong, ...long];
    });
}

function withoutCode(page: string): string {
  return page.replaceAll(/^ *```[\s\S]*?^ *```/gm, (code) => code.replaceAll(/.+/g, ''));
}

/** Paragraphs, list items and cells of tables, without code and headings. */
function paragraphs(page: string): Passage[] {
  return passages(withoutCode(page).split('\n'), (line) => {
    if (/^\s*(?:#|<!--|$)/.test(line)) return null;
    const item = /^\s*(?:[-*]|\d+\.|\|)\s+(?:\*\*[^*]+\*\* )?/.exec(line);
    return { text: line.slice(item?.[0].length ?? 0), begins: item !== null };
  });
}

function comments(source: string): Passage[] {
  return passages(source.split('\n'), (line) => {
    const comment = /(?:^|\s)(?:\/\/|\/\*\*?)\s(.*)$|^\s*\*\s(.*)$/.exec(line);
    if (comment === null) return null;
    const text = (comment[1] ?? comment[2]!).replace(/\s*\*\/\}?$/, '');
    const tag = /^(?:@\w+ (?:\w+ )?|- )/.exec(text);
    return { text: text.slice(tag?.[0].length ?? 0), begins: tag !== null || comment[0].includes('/*') };
  });
}

/** Joins lines that belong together. @param read null: the line is between passages */
function passages(
  lines: readonly string[],
  read: (line: string) => { readonly text: string; readonly begins: boolean } | null,
): Passage[] {
  const found: { line: number; text: string }[] = [];
  let isOpen = false;
  for (const [index, line] of lines.entries()) {
    const part = read(line);
    if (part !== null && isOpen && !part.begins) found.at(-1)!.text += ` ${part.text.trim()}`;
    else if (part !== null) found.push({ line: index + 1, text: part.text.trim() });
    isOpen = part !== null;
  }
  return found;
}

function filesIn(folders: readonly string[], name: RegExp): string[] {
  return folders.flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => name.test(file) && !file.includes('node_modules'))
      .map((file) => path.join(folder, file)),
  );
}

function read(file: string): string {
  return readFileSync(path.join(root, file), 'utf8');
}
