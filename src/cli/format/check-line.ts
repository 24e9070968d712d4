import type { Check } from '../doctor/check';
import { harmless } from './cells';
import { painted, type Span, span } from './spans';

const marks: Readonly<Record<Check['state'], Span>> = {
  ok: span('✓ ', 'green'),
  warning: span('! ', 'yellow'),
  failed: span('✗ ', 'red'),
  skipped: span('- ', 'dim'),
};

/** Room for `schemas insights`. */
const nameCells = 18;

/** One check on one line, and below it what to do, where there is something. */
export function checkLine({ check, feed, state, found, remedy }: Check, color: boolean): string {
  const name = feed === null ? check : `${check} ${feed}`;
  const what = state === 'skipped' ? `skipped: ${found}` : found;
  const first = painted(
    [
      marks[state],
      span(`${harmless(name).padEnd(nameCells)} `),
      span(oneLine(what), state === 'skipped' ? 'dim' : undefined),
    ],
    Infinity,
    color,
  );
  if (remedy === null) return `${first.trimEnd()}\n`;
  const lines = remedy.split('\n').map((line) => `${' '.repeat(nameCells + 3)}${harmless(line)}\n`);
  return `${first.trimEnd()}\n${lines.join('')}`;
}

function oneLine(text: string): string {
  return harmless(text.replace(/\s*\n\s*/g, ' '));
}
