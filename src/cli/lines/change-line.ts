import type { DecodedRecord } from '../../avro/codec/record-decoder';
import { valueAt } from '../../avro/path';
import { changedValue, inTellingOrder, type ShownFeed, shownRecord } from '../../format/display';
import { column, harmless } from '../terminal/cells';
import { cellsIn, type LineText, type Span, type Style, span } from '../terminal/spans';
import { fieldText, valueText } from '../terminal/value-text';

type Fields = Readonly<Record<string, unknown>>;

interface Envelope {
  readonly before: Fields | null;
  readonly after: Fields | null;
  readonly op: string;
  readonly changed_fields: readonly string[];
}

const ops: Readonly<Record<string, { readonly mark: string; readonly word: string; readonly style: Style }>> =
  {
    c: { mark: '+', word: 'created', style: 'green' },
    u: { mark: '~', word: 'updated', style: 'yellow' },
    d: { mark: '-', word: 'deleted', style: 'red' },
    r: { mark: '·', word: 'read', style: 'blue' },
  };
const MOST_CHANGES = 6;
const NARROW_CELLS = 80;

/** A change event: whose it is, and what moved from what to what. */
export function changeLine(
  record: DecodedRecord,
  feed: ShownFeed,
  width: number,
  feedAsLabel: boolean,
): LineText {
  const { before, after, op, changed_fields } = record.value as Envelope;
  const { mark, word, style } = ops[op] ?? { mark: '?', word: op, style: 'plain' as const };
  const label = span(`${mark} ${feedAsLabel ? harmless(feed.name) : word}`, style);
  const shown = after ?? before ?? {};
  const { title, symbol, facts } = shownRecord(feed, shown, record.key);
  const nameWidth = width < NARROW_CELLS ? 15 : 28;
  const head = [
    span(column(harmless(symbol || (record.headers.symbol ?? '')), 6), 'bold'),
    span(`${column(harmless(title), nameWidth)} `),
  ];
  const room = width - 6 - nameWidth - 1;
  const rest =
    op === 'u' && before !== null && after !== null
      ? changes(inTellingOrder(feed, changed_fields, before, after), before, after, room)
      : [span(facts.map((path) => valueText(valueAt(shown, path))).join(' · '), 'dim')];
  return { label, spans: [...head, ...rest] };
}

/** As many `field before → after` as there is room for, and how many more there are. */
function changes(fields: readonly string[], before: Fields, after: Fields, room: number): Span[] {
  const valueCells = room < 40 ? 10 : 28;
  const spans: Span[] = [];
  let left = room;
  let shown = 0;
  for (const field of fields.slice(0, MOST_CHANGES)) {
    const from = valueText(changedValue(before, field), valueCells);
    const to = valueText(changedValue(after, field), valueCells);
    const next = [
      ...(shown === 0 ? [] : [span(', ', 'dim')]),
      span(`${nameOf(field, fields, after)} `, 'dim'),
      span(`${from} → `),
      span(to, 'bold'),
    ];
    const cells = cellsIn(next);
    const more = fields.length - shown - 1;
    if (shown > 0 && cells + (more === 0 ? 0 : moreText(more).length) > left) break;
    spans.push(...next);
    left -= cells;
    shown += 1;
  }
  const hidden = fields.length - shown;
  const more = moreText(hidden);
  return hidden === 0 || more.length > left ? spans : [...spans, span(more, 'dim')];
}

/** Only the last part of a path, unless it is the name of another field as well. */
function nameOf(field: string, changed: readonly string[], record: Fields): string {
  const last = fieldText(field);
  const isShared = changed.some((other) => other !== field && fieldText(other) === last);
  const isOther = field.includes('.') && Object.hasOwn(record, last);
  if (!isShared && !isOther && !field.startsWith('extra.')) return last;
  return harmless(field.replace(/^extra\./, ''));
}

function moreText(count: number): string {
  return ` +${count} more`;
}
