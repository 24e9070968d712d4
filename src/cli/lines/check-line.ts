import type { Check } from '../doctor/check';
import { harmless, wrapped } from '../terminal/cells';
import { painted, type Span, span } from '../terminal/spans';

export interface CheckLineOptions {
  /** Cells of the terminal. */
  readonly width: number;
  readonly color: boolean;
}

const marks: Readonly<Record<Check['state'], Span>> = {
  ok: span('✓ ', 'green'),
  warning: span('! ', 'yellow'),
  failed: span('✗ ', 'red'),
  skipped: span('- ', 'dim'),
};

/** Room for `schemas insights`. */
const NAME_CELLS = 18;
const HEAD_CELLS = 2 + NAME_CELLS + 1;
/** If less width than this is left beside the names, findings are printed below them. */
const LEAST_CELLS = 36;

const groups: readonly (readonly [title: string, checks: readonly string[]])[] = [
  ['Settings', ['settings']],
  ['API', ['api', 'token', 'clock', 'feed']],
  ['Schemas', ['registry', 'schemas', 'command-schema']],
  ['Feeds', ['status']],
];

/** The heading of a check. Checks without a heading of their own concern the log. */
export function checkGroup({ check }: Pick<Check, 'check'>): string {
  return groups.find(([, checks]) => checks.includes(check))?.[0] ?? 'Log';
}

/** One check with its remedy, if it has one, wrapped at the width of the terminal. */
export function checkLine(
  { check, feed, state, found, remedy }: Check,
  { width, color }: CheckLineOptions,
): string {
  const name = harmless(feed === null ? check : `${check} ${feed}`);
  const what = oneLine(state === 'skipped' ? `skipped: ${found}` : found);
  const style =
    state === 'skipped' ? 'dim' : state === 'failed' ? 'red' : state === 'warning' ? 'yellow' : 'plain';
  const isBeside = width - HEAD_CELLS >= LEAST_CELLS;
  const indent = isBeside ? HEAD_CELLS : 4;
  const said = wrapped(what, width - indent).map((line) => [span(' '.repeat(indent)), span(line, style)]);
  const head = [
    marks[state],
    span(isBeside ? `${name.padEnd(NAME_CELLS)} ` : name, isBeside ? 'plain' : 'bold'),
  ];
  const lines: Span[][] = isBeside ? [[...head, said[0]![1]!], ...said.slice(1)] : [head, ...said];
  const advice = (remedy ?? '')
    .split('\n')
    .filter((line) => line !== '')
    .flatMap((line) => wrapped(harmless(line), width - indent - 4))
    .map((line, i) => [span(`${' '.repeat(indent)}${i === 0 ? 'do: ' : '    '}`, 'dim'), span(line)]);
  return [...lines, ...advice].map((line) => `${painted(line, width, color).trimEnd()}\n`).join('');
}

function oneLine(text: string): string {
  return harmless(text.replace(/\s*\n\s*/g, ' '));
}
