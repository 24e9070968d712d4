import { errorKinds } from '../../errors';
import type { FeedProblem } from '../../feed-status/feed-status';
import { agoText } from '../../format/durations';
import type { StatusLine } from '../log/read-status';
import { harmless, wrapped } from '../terminal/cells';
import { type Column, fittedTable } from '../terminal/fitted-table';
import { type Span, type Style, span } from '../terminal/spans';

const [LETTERS, API] = [5, 6];
const columns: readonly Column[] = [
  { head: 'FEED', least: 8 },
  { head: 'STATE', least: 14 },
  { head: 'LAST SCAN', leaves: 1 },
  { head: 'RECORDS', alignRight: true, leaves: 3 },
  { head: 'MARK', leaves: 5 },
  { head: 'DEAD LETTERS', alignRight: true, leaves: 4 },
  { head: 'API', least: 12, leaves: 6 },
  { head: 'OWNER', least: 9, leaves: 2 },
];

/** One line per feed, then the problems with their remedies, and last the number of healthy feeds. */
export function statusLines(
  all: readonly StatusLine[],
  { nowMs, width }: { readonly nowMs: number; readonly width: number },
): Span[][] {
  const hasLetters = all.some((one) => one.dead_letters > 0);
  const hasSeveralApis = new Set(all.map(({ api }) => api)).size > 1;
  const isShown = (_: unknown, i: number): boolean =>
    i === LETTERS ? hasLetters : i === API ? hasSeveralApis : true;
  const rows = all.map((status) => cells(status, nowMs).filter(isShown));
  const problems = statusProblems(all).flatMap((problem) => problemLines(problem, width));
  return [
    ...fittedTable(columns.filter(isShown), rows, width),
    [],
    ...(problems.length === 0 ? [] : [...problems, []]),
    ...summaryLines(all, width),
  ];
}

function cells(status: StatusLine, nowMs: number): Span[] {
  const { feed, owner, high_water_mark: mark, last_complete_scan_ms: scanned, records, behind } = status;
  const [state, style] = stateOf(status);
  return [
    span(harmless(feed), 'bold'),
    span(state, style),
    scanned === null ? span('never', 'dim') : span(agoText(nowMs - scanned), behind ? 'yellow' : 'plain'),
    span(records.toLocaleString('en-US')),
    mark === null || mark === 0 ? span('-', 'dim') : span(agoText(nowMs - mark * 1_000)),
    span(status.dead_letters.toLocaleString('en-US'), status.dead_letters > 0 ? 'yellow' : 'dim'),
    status.api === null ? span('not set', 'dim') : span(harmless(status.api.replace(/^https?:\/\//, ''))),
    owner === null ? span('nobody', 'red') : span(harmless(owner)),
  ];
}

/** Without colour, the mark shows it. */
function stateOf({ condition, being_read, backfill_done: backfill, problems }: StatusLine): [string, Style] {
  if (condition === 'parked') return ['✗ parked', 'red'];
  if (condition === 'paused') return ['‖ paused', 'yellow'];
  if (condition === 'no-owner') return ['✗ no publisher', 'red'];
  if (being_read) return ['↻ snapshot', 'cyan'];
  if (condition === 'behind') return ['! behind', 'yellow'];
  if (problems.some(({ code }) => code === 'NO_ROWS')) return ['? no rows yet', 'yellow'];
  return backfill === null
    ? ['✓ up to date', 'green']
    : [`↻ backfill ${Math.floor(backfill * 100)} %`, 'cyan'];
}

/** `✗ ipos: what is wrong`, and below it `do: what to do`. */
export function problemLines({ mark, style, texts, remedy }: Problem, width: number): Span[][] {
  const said = texts.flatMap((text) =>
    wrapped(harmless(text), width - 2).map((line, i) => [
      span(i === 0 ? `${mark} ` : '  ', style),
      span(line, style),
    ]),
  );
  const advice = wrapped(harmless(remedy), width - 6).map((line, i) => [
    span(i === 0 ? '  do: ' : '      ', 'dim'),
    span(line),
  ]);
  return [...said, ...advice];
}

function summaryLines(all: readonly StatusLine[], width: number): Span[][] {
  const counts = { green: 0, cyan: 0 };
  for (const status of all) {
    const [, style] = stateOf(status);
    if (style === 'green' || style === 'cyan') counts[style] += 1;
  }
  const { green: fine, cyan: busy } = counts;
  const line = (text: string, style: Style) => wrapped(text, width).map((part) => [span(part, style)]);
  if (fine === all.length)
    return line(
      all.length === 1 ? 'The feed is up to date.' : `All ${all.length} feeds are up to date.`,
      'green',
    );
  const feeds = all.length === 1 ? 'feed' : 'feeds';
  const read = busy === 0 ? '' : `, ${busy} being read`;
  return line(
    `${fine} of ${all.length} ${feeds} up to date${read}.`,
    fine + busy === all.length ? 'cyan' : 'yellow',
  );
}

interface Problem {
  readonly mark: string;
  readonly style: Style;
  /** One for each feed that has it. */
  readonly texts: readonly string[];
  readonly remedy: string;
}

/** The problems of the feeds and what to do about them, the worst first. Feeds that need the same remedy share one problem. */
function statusProblems(all: readonly StatusLine[]): readonly Problem[] {
  const found = [...withoutPublisher(all), ...all.flatMap(ofFeed)];
  const byRemedy = new Map<string, Problem>();
  for (const problem of found) {
    const known = byRemedy.get(problem.remedy);
    byRemedy.set(
      problem.remedy,
      known === undefined ? problem : { ...known, texts: [...known.texts, ...problem.texts] },
    );
  }
  const rank = ({ style }: Problem): number => (style === 'red' ? 0 : 1);
  return [...byRemedy.values()].sort((a, b) => rank(a) - rank(b));
}

/** Feeds that nobody publishes, in one text. */
function withoutPublisher(all: readonly StatusLine[]): Problem[] {
  const left = all.flatMap(({ feed, problems }) =>
    problems.flatMap((problem) => (problem.code === 'NO_OWNER' ? [{ feed, problem }] : [])),
  );
  if (left.length === 0) return [];
  const text = all.every(({ owner }) => owner === null)
    ? 'No publisher runs on this log.'
    : `No publisher has ${left.map(({ feed }) => feed).join(', ')}, though others run.`;
  return [{ mark: '✗', style: 'red', texts: [text], remedy: left[0]!.problem.remedy }];
}

function ofFeed({ feed, problems }: StatusLine): Problem[] {
  return problems
    .filter(({ code }) => code !== 'NO_OWNER')
    .map((problem) => {
      const { code, severity, what, remedy } = problem;
      const [mark, style] = code === 'PAUSED' ? (['‖', 'yellow'] as const) : marks[severity];
      if (!Object.hasOwn(errorKinds, code)) return { mark, style, texts: [`${feed}: ${what}`], remedy };
      const text = [feed, code, what].filter((part) => part !== '').join(': ');
      return { mark, style, texts: [text], remedy: `${remedy} (\`highwater explain ${code}\`)` };
    });
}

const marks: Readonly<Record<FeedProblem['severity'], readonly [string, Style]>> = {
  bad: ['✗', 'red'],
  warning: ['!', 'yellow'],
  note: ['!', 'yellow'],
};
