import type { DecodedRecord } from '../../avro/codec/record-decoder';
import { column, harmless } from '../terminal/cells';
import { cellsIn, type LineText, type Span, type Style, span } from '../terminal/spans';
import { valueText } from '../terminal/value-text';

type Value = Readonly<Record<string, unknown>>;
type Badge = readonly [text: string, style: Style];

/** What stands out in the label's place. Values are the vendor's and not a closed set: others are shown as they come. */
const statusBadges: Readonly<Record<string, Badge>> = {
  Withdrawn: ['⚠ WITHDRAWN', 'alarm'],
  Postponed: ['‖ POSTPONED', 'magenta'],
  Priced: ['◆ PRICED', 'cyan'],
  Closed: ['■ CLOSED', 'cyan'],
  Amended: ['◇ AMENDED', 'cyan'],
  'Initial Filing': ['○ FILED', 'cyan'],
  Rumored: ['○ RUMORED', 'cyan'],
};
const actionBadges: Readonly<Record<string, Badge>> = {
  Upgrades: ['▲ UPGRADE', 'green'],
  Downgrades: ['▼ DOWNGRADE', 'red'],
  'Initiates Coverage On': ['★ INITIATION', 'magenta'],
};

const SYMBOL_CELLS = 6;
const LEAST_NAME_CELLS = 8;

/** Null for a type that has no line of its own. */
export function transitionLine(record: DecodedRecord, width: number): LineText | null {
  const value = record.value as Value;
  if (record.type === 'marketdata.ipos.DealStatusChanged') return dealStatus(value, width);
  if (record.type === 'marketdata.insights.RatingChanged') return rating(value, width);
  return null;
}

/** `ACME Corp (ACME): Priced → WITHDRAWN` */
function dealStatus({ name, ticker, id, previous_status, status }: Value, width: number): LineText {
  const [label, style] = statusBadges[String(status)] ?? ['◇ STATUS', 'cyan'];
  const isOver = status === 'Withdrawn' || status === 'Postponed';
  const text = valueText(status);
  const rest = [
    span(`${typeof ticker === 'string' ? ` (${harmless(ticker)})` : ''}: `),
    ...(previous_status === null ? [] : [span(`${valueText(previous_status)} → `)]),
    span(isOver ? text.toUpperCase() : text, style),
  ];
  // As with a rating, the name gives way before what moved does.
  const room = Math.max(LEAST_NAME_CELLS, Math.min(40, width - cellsIn(rest)));
  return { label: span(label, style), spans: [span(valueText(name ?? id, room), 'bold'), ...rest] };
}

/** `AAPL  Firm: Buy → Hold, pt 110.00 → 95.00` */
function rating(value: Value, width: number): LineText {
  const [label, style] = value.correction
    ? (['↻ CORRECTION', 'yellow'] as const)
    : (actionBadges[String(value.action)] ?? (['● RATING', 'cyan'] as const));
  const isFirst = value.previous_rating === null && value.previous_date === null;
  const moves = [
    ...moved(value.previous_rating, value.rating, isFirst, style),
    span(', pt '),
    ...moved(value.previous_pt, value.pt, isFirst, 'bold'),
  ];
  // The firm gives way before what moved does.
  const room = width - SYMBOL_CELLS - 2 - cellsIn(moves);
  const firm = valueText(value.firm ?? value.firm_id, Math.max(LEAST_NAME_CELLS, Math.min(28, room)));
  return {
    label: span(label, style),
    spans: [span(column(harmless(String(value.symbol)), SYMBOL_CELLS), 'bold'), span(`${firm}: `), ...moves],
  };
}

function moved(before: unknown, after: unknown, isFirst: boolean, style: Style): Span[] {
  const to = span(valueText(after), style);
  return isFirst || before === after ? [to] : [span(`${valueText(before)} → `), to];
}
