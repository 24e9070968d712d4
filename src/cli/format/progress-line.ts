import { cellsOf, column, harmless } from './cells';
import { type Span, span } from './spans';

/** How long work goes, at one moment. */
export interface ProgressText {
  /** What is worked on: a feed. */
  readonly label: string;
  /** What is done with it: `snapshot`. */
  readonly work: string;
  /** 0 to 1, for a bar; null where the end is not known: then something turns, and nothing is made up. */
  readonly share: number | null;
  /** With units, the most important first: what there is no room for is cut. */
  readonly facts: readonly string[];
  /** It stands still. */
  readonly trouble?: string;
}

const turning = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

interface ProgressLineOptions {
  readonly width: number;
  /** Counts the frames. */
  readonly tick: number;
  /** Of the labels and of the works, so that what stands in several lines stands under each other. */
  readonly labelCells: number;
  readonly workCells: number;
  /** Of the first facts, the second ones, and so on. */
  readonly factCells: readonly number[];
}

function progressLine(
  { label, work, share, facts, trouble }: ProgressText,
  { width, tick, labelCells, workCells, factCells }: ProgressLineOptions,
): Span[] {
  const cells = barCells(width);
  const turn = turning[tick % turning.length]!;
  return [
    span(`${column(harmless(label), labelCells)}  `, 'bold'),
    span(`${column(work, workCells)}  `),
    ...(share === null ? [span(`${turn}  `, 'cyan')] : barSpans(share, cells)),
    span(facts.map((fact, i) => harmless(fact).padStart(factCells[i] ?? 0)).join('  ')),
    ...(trouble === undefined ? [] : [span(`  ${harmless(trouble)}`, 'yellow')]),
  ];
}

/** What is done and what is left of `cells` cells, and a gap. */
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

/** Works of the same time, a line each, their figures under each other. */
export function progressLines(texts: readonly ProgressText[], width: number, tick: number): Span[][] {
  const widest = (words: readonly string[]) => Math.min(24, Math.max(...words.map((word) => cellsOf(word))));
  const most = Math.max(...texts.map(({ facts }) => facts.length));
  const options = {
    ...{ width, tick },
    labelCells: widest(texts.map(({ label }) => label)),
    workCells: widest(texts.map(({ work }) => work)),
    factCells: Array.from({ length: most }, (_, i) => widest(texts.map(({ facts }) => facts[i] ?? ''))),
  };
  return texts.map((text) => progressLine(text, options));
}
