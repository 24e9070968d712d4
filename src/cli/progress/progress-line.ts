import { harmless } from '../../format/short-text';
import { cellsOf, column, type Span, span } from '../terminal/text';
import type { ProgressText } from './progress-text';

const turning = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/**
 * Works of the same time, a line each, their figures under each other.
 * @param tick counts the frames
 */
export function progressLines(texts: readonly ProgressText[], width: number, tick: number): Span[][] {
  const widest = (wordOf: (text: ProgressText) => string): number =>
    Math.min(24, Math.max(...texts.map((text) => cellsOf(wordOf(text)))));
  const labelCells = widest(({ label }) => label);
  const workCells = widest(({ work }) => work);
  const padded = (fact: string, i: number): string =>
    harmless(fact).padStart(widest(({ facts }) => facts[i] ?? ''));
  const turn = turning[tick % turning.length]!;
  return texts.map(({ label, work, share, facts, trouble }) => [
    span(`${column(harmless(label), labelCells)}  `, 'bold'),
    span(`${column(work, workCells)}  `),
    ...(share === null ? [span(`${turn}  `, 'cyan')] : barSpans(share, barCells(width))),
    span(facts.map(padded).join('  ')),
    ...(trouble === undefined ? [] : [span(`  ${harmless(trouble)}`, 'yellow')]),
  ]);
}

/** A bar of `cells` cells: the share that is done, the rest, and a gap. */
export function barSpans(share: number, cells: number): Span[] {
  if (cells === 0) return [];
  const full = Math.round(Math.min(1, Math.max(0, share)) * cells);
  return [span('█'.repeat(full), 'cyan'), span('░'.repeat(cells - full), 'dim'), span('  ')];
}

/** A narrow terminal needs its cells for the figures. */
function barCells(width: number): number {
  if (width >= 110) return 28;
  if (width >= 76) return 16;
  return width >= 56 ? 8 : 0;
}
