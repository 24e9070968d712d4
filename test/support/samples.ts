import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { headline } from '../../src/admin/page/model/headline';
import { firstModel, type Message, reduce } from '../../src/admin/page/model/model';
import { root } from './build';
import type { CommandRun, RunOptions } from './cli';
import { eventsOf } from './event-stream';

/** A fenced block of a document. */
export interface FencedBlock {
  /** Below the root: `docs/runbook/disk-full.md`. */
  readonly page: string;
  readonly language: string;
  /** The word after the language: a suite makes the block's text by this name. Empty: none does. */
  readonly name: string;
  readonly text: string;
}

/** Folders of documents that people read; the index of the root itself is added. */
const folders = ['docs', 'examples', 'bench'];

/** Every fenced block of the documents. */
export function fencedBlocks(): FencedBlock[] {
  const inFolders = folders.flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' }).map(
      (name) => `${folder}/${name}`,
    ),
  );
  return ['README.md', 'CONTRIBUTING.md', ...inFolders]
    .filter((name) => name.endsWith('.md') && !name.includes('node_modules'))
    .flatMap((page) =>
      [
        ...readFileSync(path.join(root, page), 'utf8').matchAll(/^( *)```(\w*) ?([\w-]*)\n(.*?)^\1```$/gms),
      ].map(([, , language = '', name = '', text = '']) => ({ page, language, name, text })),
    );
}

/**
 * Compares the sample of this name with what a run printed, apart from what differs between runs. With UPDATE_DOCS=1 a sample that is
 * stale is written.
 */
export function expectSample(name: string, printed: string): void {
  const { page, language, text } = sampleOf(name);
  const made = `${printed.trimEnd().split('\n').map(folded).join('\n')}\n`;
  if (process.env.UPDATE_DOCS === '1' && timeless(text) !== timeless(made)) {
    const file = path.join(root, page);
    const fence = `\`\`\`${language} ${name}\n`;
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace(fence + text, () => fence + made),
    );
  }
  expect(timeless(sampleOf(name).text)).toBe(timeless(made));
}

/** @throws Error when no document has it, or several have */
export function sampleOf(name: string): FencedBlock {
  const found = fencedBlocks().filter((block) => block.name === name);
  if (found.length !== 1) throw new Error(`${found.length} samples are called ${name}`);
  return found[0]!;
}

/** Patterns of what differs between two runs of the same situation. Spaces differ too, since tables are as wide as their cells. */
const varying: readonly (readonly [RegExp, string])[] = [
  [/\n# {2,}/g, ' '],
  [/\d{4}-\d\d-\d\d(?:T[\d:.]+Z)?/g, 'DATE'],
  [/\b\d\d:\d\d:\d\d\b/g, 'TIME'],
  [/\b[\d,.]+ (?:ms|s|min|h|d)\b/g, 'DURATION'],
  [/(?<= )now(?= {2})/g, 'DURATION ago'],
  [/\b(\w+)=\d[\d.]*/g, '$1=NUMBER'],
  [/\b[\d,.]+ (?:bytes|MB|GB)\b/g, 'SIZE'],
  [/\b\d+ to \d+\b/g, 'OFFSETS'],
  [/\/schemas\/ids\/\d+/g, '/schemas/ids/N'],
  [/\b[0-9a-f]{8,}\b/g, 'ID'],
  [/\s+/g, ' '],
];

function timeless(text: string): string {
  return varying.reduce((result, [pattern, instead]) => result.replaceAll(pattern, instead), text).trim();
}

const MOST_CELLS = 110;

/** As a terminal of this width shows the line: continued under its own text. */
function folded(line: string): string {
  if (line.length <= MOST_CELLS) return line;
  const [{ length: indent }] = /^(?: *(?:do|now): +|[✗!✓‖] (?:[a-z-]+(?: [a-z-]+)? {2,})?| *)/.exec(line)!;
  const begin = line.startsWith('# ') ? '#   ' : ' '.repeat(indent);
  const lines: string[] = [];
  let rest = line;
  while (rest.length > MOST_CELLS) {
    const at = rest.lastIndexOf(' ', MOST_CELLS);
    if (at <= begin.length) break;
    lines.push(rest.slice(0, at));
    rest = begin + rest.slice(at + 1);
  }
  return [...lines, rest].join('\n');
}

export interface Session {
  readonly here: (args: readonly string[], options?: RunOptions) => CommandRun;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Placeholders for addresses and folders of the run. */
  readonly instead?: Readonly<Record<string, string>>;
}

/** A stale sample fails after this time; until then the situation may still be on its way. */
const RETRY_MS = 30_000;

/**
 * Runs the commands of a sample (`$ highwater …`, with `| grep 'PATTERN'` or `| head -N` if wanted) and compares what they print.
 * `status` is shown without its last lines. `# dashboard:` is the headline of the page that the publisher serves.
 */
export async function expectSession(name: string, session: Session): Promise<void> {
  const commands = sampleOf(name)
    .text.split('\n')
    .filter((line) => /^(?:\$ highwater|# dashboard:)/.test(line));
  const end = Date.now() + RETRY_MS;
  for (;;) {
    const parts: string[] = [];
    for (const command of commands) parts.push(await part(command, session));
    const printed = readable(parts.join('\n\n'), session);
    const isKept = timeless(printed) === timeless(sampleOf(name).text);
    if (!isKept && process.env.UPDATE_DOCS !== '1' && Date.now() < end) continue;
    expectSample(name, printed);
    return;
  }
}

async function part(line: string, { here, cwd, env }: Session): Promise<string> {
  if (line.startsWith('#')) return `# dashboard: ${await dashboardHeadline(env)}`;
  const [command = '', filter] = line.slice('$ highwater '.length).split(' | ');
  const running = here(command.split(' '), { cwd, env });
  await running.ended();
  const printed = (running.stderr() + running.stdout()).trimEnd();
  return `${line}\n${filter === undefined ? withoutLastLines(printed) : filtered(printed, filter)}`;
}

/** As `grep` and `head` do. @throws Error for another filter */
function filtered(printed: string, filter: string): string {
  const lines = printed.split('\n');
  const [, pattern, count] = /^(?:grep '(.+)'|head -(\d+))$/.exec(filter) ?? [];
  if (pattern === undefined && count === undefined) throw new Error(`no filter of samples: ${filter}`);
  const kept =
    pattern === undefined ? lines.slice(0, Number(count)) : lines.filter((line) => line.match(pattern));
  return kept.join('\n');
}

/** Without how many feeds are up to date, and without the space of the embedded log. */
function withoutLastLines(printed: string): string {
  return printed.replace(/\n\n(?:\d+ of \d+ feeds?|The feed is|All \d+ feeds) .*(?:\nThe log takes .*)?/, '');
}

async function dashboardHeadline({ HIGHWATER_HTTP_PORT }: Session['env']): Promise<string> {
  const { feeds } = await eventsOf(
    `http://127.0.0.1:${HIGHWATER_HTTP_PORT}`,
    ({ feeds }) => feeds.length > 0,
  );
  const nowMs = Date.now();
  const messages: Message[] = [{ kind: 'opened' }, { kind: 'feeds', views: feeds, atMs: nowMs }];
  const { text, also } = headline(messages.reduce(reduce, firstModel), nowMs);
  const problems = feeds.flatMap(({ condition, problem }) =>
    condition === 'up-to-date' && problem !== null ? [problem.what] : [],
  );
  return [text, also, ...problems].filter((one) => one !== '').join(' · ');
}

/** The text with names that a reader knows, instead of the addresses, folders and processes of this run. */
export function readable(text: string, { cwd, env, instead = {} }: Omit<Session, 'here'>): string {
  const names: [string, string][] = [
    ...Object.entries(instead),
    [env.HIGHWATER_API_URL ?? '', 'https://api.example'],
    [`127.0.0.1:${env.HIGHWATER_HTTP_PORT}`, '127.0.0.1:9464'],
    [path.join(cwd, 'data'), '/data'],
    [cwd, '/backups'],
    [hostname(), 'vm'],
  ];
  const processes: string[] = [];
  return names
    .filter(([here]) => here !== '')
    .reduce((result, [here, there]) => result.replaceAll(here, there), text)
    .replaceAll(/(\bvm:|\bprocess )(\d+)/g, (_, before: string, pid: string) => {
      if (!processes.includes(pid)) processes.push(pid);
      return `${before}${4711 + processes.indexOf(pid)}`;
    });
}
