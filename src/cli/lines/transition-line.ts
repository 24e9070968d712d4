import type { BadgeTone } from '../../feeds/definition';
import type { ShownTransition } from '../../format/display';
import { column, harmless } from '../terminal/cells';
import { cellsIn, type LineText, type Span, type Style, span } from '../terminal/spans';
import { fieldText, valueText } from '../terminal/value-text';

const styles: Readonly<Record<BadgeTone, Style>> = {
  alarm: 'alarm',
  warning: 'magenta',
  up: 'green',
  down: 'red',
  new: 'magenta',
  corrected: 'yellow',
  info: 'cyan',
};

const SYMBOL_CELLS = 6;
const LEAST_TITLE_CELLS = 8;

/**
 * A transition in one phrase. That of a record begins with its title: `ACME Corp (ACME): Priced → WITHDRAWN`; that of a group
 * with its symbol: `AAPL  Firm: Buy → Hold, pt 110.00 → 95.00`.
 */
export function transitionLine(shown: ShownTransition, width: number): LineText {
  const { transition, badge, title, symbol } = shown;
  const isOfGroup = transition.kind === 'latest-in-group';
  const label = span(harmless(`${badge.mark} ${badge.word}`), styles[badge.tone]);
  const head = isOfGroup ? [span(column(harmless(symbol), SYMBOL_CELLS), 'bold')] : [];
  const after = symbol === '' || isOfGroup ? ': ' : ` (${harmless(symbol)}): `;
  const rest = [span(after), ...moves(shown, styles[badge.tone])];
  // The title gives way before what moved does.
  const room = Math.min(isOfGroup ? 28 : 40, width - cellsIn(head) - cellsIn(rest));
  const name = span(valueText(title, Math.max(LEAST_TITLE_CELLS, room)), isOfGroup ? 'plain' : 'bold');
  return { label, spans: [...head, name, ...rest] };
}

/** `Buy → Hold, pt 110.00 → 95.00` */
function moves({ moves, badge, isFirst }: ShownTransition, style: Style): Span[] {
  const isLoud = badge.tone === 'alarm' || badge.tone === 'warning';
  return moves.flatMap(({ path, before, after }, at) => {
    const text = valueText(after);
    return [
      ...(at === 0 ? [] : [span(`, ${fieldText(path)} `)]),
      ...(isFirst || before === after ? [] : [span(`${valueText(before)} → `)]),
      at === 0 ? span(isLoud ? text.toUpperCase() : text, style) : span(text, 'bold'),
    ];
  });
}
