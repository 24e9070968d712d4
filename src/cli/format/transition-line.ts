import type { DecodedRecord } from '../record-decoder';
import { harmless } from './cells';
import type { LineText } from './event-line';
import { type Span, type Style, span } from './spans';
import { valueText } from './value-text';

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

/** Null for a type that has no line of its own. */
export function transitionLine(record: DecodedRecord): LineText | null {
  const value = record.value as Value;
  if (record.type === 'marketdata.ipos.DealStatusChanged') return dealStatus(value);
  if (record.type === 'marketdata.insights.RatingChanged') return rating(value);
  return null;
}

/** `ACME Corp (ACME): Priced → WITHDRAWN` */
function dealStatus({ name, ticker, id, previous_status, status }: Value): LineText {
  const [label, style] = statusBadges[String(status)] ?? ['◇ STATUS', 'cyan'];
  const isOver = status === 'Withdrawn' || status === 'Postponed';
  const text = valueText(status);
  return {
    label: span(label, style),
    spans: [
      span(valueText(name ?? id, 40), 'bold'),
      span(`${typeof ticker === 'string' ? ` (${harmless(ticker)})` : ''}: `),
      ...(previous_status === null ? [] : [span(`${valueText(previous_status)} → `)]),
      span(isOver ? text.toUpperCase() : text, style),
    ],
  };
}

/** `AAPL  Firm: Buy → Hold, pt 110.00 → 95.00` */
function rating(value: Value): LineText {
  const [label, style] = value.correction
    ? (['↻ CORRECTION', 'yellow'] as const)
    : (actionBadges[String(value.action)] ?? (['● RATING', 'cyan'] as const));
  const isFirst = value.previous_rating === null && value.previous_date === null;
  return {
    label: span(label, style),
    spans: [
      span(harmless(String(value.symbol)).padEnd(6), 'bold'),
      span(`${valueText(value.firm ?? value.firm_id, 24)}: `),
      ...moved(value.previous_rating, value.rating, isFirst, style),
      span(', pt '),
      ...moved(value.previous_pt, value.pt, isFirst, 'bold'),
    ],
  };
}

function moved(before: unknown, after: unknown, isFirst: boolean, style: Style): Span[] {
  const to = span(valueText(after), style);
  return isFirst || before === after ? [to] : [span(`${valueText(before)} → `), to];
}
