import { agoText } from '../../format/durations';
import type { FeedStatus } from '../status/feed-status';
import { harmless, wrapped } from '../terminal/cells';
import { type Column, fittedTable } from '../terminal/fitted-table';
import { painted, type Span, type Style, span } from '../terminal/spans';
import { type Problem, statusProblems } from './status-problems';

export interface StatusTableOptions {
  readonly nowMs: number;
  /** Cells of the terminal. */
  readonly width: number;
  readonly color: boolean;
}

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
export function statusTable(all: readonly FeedStatus[], options: StatusTableOptions): string {
  const { width, color } = options;
  return statusLines(all, options)
    .map((line) => `${painted(line, width, color)}\n`)
    .join('');
}

export function statusLines(
  all: readonly FeedStatus[],
  { nowMs, width }: Pick<StatusTableOptions, 'nowMs' | 'width'>,
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

function cells(status: FeedStatus, nowMs: number): Span[] {
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
function stateOf({ condition, being_read, backfill_done: backfill, problems }: FeedStatus): [string, Style] {
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

function summaryLines(all: readonly FeedStatus[], width: number): Span[][] {
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
