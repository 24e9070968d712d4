import pc from 'picocolors';
import { cellsOf, clip } from './cells';

export type Style =
  | 'plain'
  | 'dim'
  | 'bold'
  | 'red'
  | 'green'
  | 'yellow'
  | 'blue'
  | 'cyan'
  | 'magenta'
  | 'alarm';

/** A stretch of text in one style. */
export interface Span {
  readonly text: string;
  readonly style: Style;
}

export function span(text: string, style: Style = 'plain'): Span {
  return { text, style };
}

export function cellsIn(spans: readonly Span[]): number {
  return spans.reduce((sum, { text }) => sum + cellsOf(text), 0);
}

/** The spans as one line of at most `width` cells; colour costs no width. */
export function painted(spans: readonly Span[], width: number, color: boolean): string {
  const paint = painter(color);
  let left = width;
  let line = '';
  for (const { text, style } of spans) {
    const fits = clip(text, left);
    if (fits !== '') line += paint(fits, style);
    left -= cellsOf(fits);
    if (fits !== text) break;
  }
  return line;
}

export function painter(color: boolean): (text: string, style: Style) => string {
  const colors = pc.createColors(color);
  return (text, style) => {
    if (style === 'plain') return text;
    return style === 'alarm' ? colors.bold(colors.red(text)) : colors[style](text);
  };
}

/** How a record reads: a short label, and what there is to say. */
export interface LineText {
  readonly label: Span;
  readonly spans: readonly Span[];
}
