import type { DeadLetterValue } from '../../avro/codec/feed-codec';
import { type DecodedRecord, recordDecoder } from '../../avro/codec/record-decoder';
import { valueAt } from '../../avro/path';
import type { SchemaLookup } from '../../avro/registry/registry';
import type { CommandRecord } from '../../commands/command-record';
import type { Config } from '../../config/load-config';
import { type BadgeTone, usualShape } from '../../feeds/definition';
import { counted } from '../../format/counted';
import {
  type ShownEnvelope,
  type ShownFeed,
  type ShownField,
  type ShownTransition,
  shownChange,
  shownImage,
  shownTransition,
} from '../../format/display';
import { harmless } from '../../format/short-text';
import { vendorText } from '../../format/vendor-text';
import { recordJson } from '../../json/json-text';
import type { LogRecord } from '../../log/commit-log';
import type { SourceOffset } from '../../state/source-offset';
import { feedsByTopic } from '../log/tail-topics';
import type { CommandContext } from '../process/command-context';
import { cellsIn, cellsOf, clip, column, type LineText, painted, type Span, type Style, span } from './text';

interface LineOptions {
  /** Width in cells; Infinity: unlimited. */
  readonly width: number;
  readonly color: boolean;
  /** Label a change by its feed (`~ ipos`) instead of its op (`~ updated`): where several feeds are shown together. */
  readonly feedAsLabel: boolean;
  /** Null for a topic that belongs to no feed. */
  readonly feedOf: (topic: string) => ShownFeed | null;
  /** Room for the name of the topic; 0, or left out: it is not named. */
  readonly topicCells?: number;
}

const LABEL_CELLS = 12;
/** A long name must leave room for what happened. */
const MOST_TOPIC_CELLS = 24;

/** One record of the log as one line for a person: time, label, and what happened. */
export function eventLine(
  record: DecodedRecord,
  { width, color, feedAsLabel, feedOf, topicCells = 0 }: LineOptions,
): string {
  const time = timeText(record.timestamp, Date.now());
  const ofTopic = topicCells === 0 ? 0 : Math.min(topicCells, MOST_TOPIC_CELLS, Math.floor(width / 4));
  const topic = ofTopic === 0 ? '' : `${column(harmless(record.topic), ofTopic)}  `;
  const headCells = time.length + 2 + cellsOf(topic) + LABEL_CELLS + 1;
  const { label, spans } = lineText(record, feedOf(record.topic), width - headCells, feedAsLabel);
  const head = [
    span(`${time}  `, 'dim'),
    span(topic, 'dim'),
    { ...label, text: `${column(harmless(label.text), LABEL_CELLS)} ` },
  ];
  return painted([...head, ...spans], width, color).trimEnd();
}

/** Lines for records of several feeds, indented. */
export function eventLines(
  registry: SchemaLookup,
  config: Config,
  { width, color }: Pick<CommandContext, 'width' | 'color'>,
): (record: LogRecord) => Promise<string> {
  const decode = recordDecoder(registry);
  const options = { color, feedAsLabel: true, feedOf: feedsByTopic(config) };
  return async (record) => `  ${eventLine(await decode(record), { ...options, width: width() - 2 })}\n`;
}

function lineText(
  record: DecodedRecord,
  feed: ShownFeed | null,
  width: number,
  feedAsLabel: boolean,
): LineText {
  if (record.value === null)
    return { label: span('x tombstone', 'red'), spans: [span(harmless(record.key))] };
  if (record.type?.endsWith('.Envelope'))
    return changeLine(record, feed ?? unknownFeed(record.type), width, feedAsLabel);
  const own = ownLines.get(record.type ?? '');
  if (own !== undefined) return own(record.value as never);
  const transition = feed === null ? null : shownTransition(feed, record);
  return transition === null ? otherLine(record, feed) : transitionLine(transition, width);
}

/** A feed that the settings do not have, by the type of its changes: `marketdata.orders.Envelope`. */
function unknownFeed(type: string): ShownFeed {
  return { ...usualShape, name: type.split('.').at(-2) ?? '', symbolField: null, transitions: [] };
}

/** An image, or a record of another program. */
function otherLine({ type, key, headers, value }: DecodedRecord, feed: ShownFeed | null): LineText {
  const label = span(`= ${harmless((type ?? 'value').split('.').at(-1)!)}`, 'cyan');
  if (feed === null) {
    const head = [headers.symbol ?? '', key].filter((text) => text !== '').join(' ');
    return {
      label,
      spans: [span(`${harmless(head)}  `, 'bold'), span(harmless(recordJson(value)), 'dim')],
    };
  }
  const record = value as Readonly<Record<string, unknown>>;
  const { title, symbol, facts } = shownImage(feed, record, key);
  const texts = facts.map((path) => valueText(valueAt(record, path)));
  return { label, spans: [...headOf(symbol, title, 28), span(texts.join(' · '), 'dim')] };
}

function headOf(symbol: string, title: string, titleCells: number): Span[] {
  return [
    span(column(harmless(symbol), SYMBOL_CELLS), 'bold'),
    span(`${column(harmless(title), titleCells)} `),
  ];
}

/** The clock of the last day, before it the date. */
function timeText(ms: number, nowMs: number): string {
  const [date = '', time = ''] = new Date(ms).toLocaleString('sv-SE').split(' ');
  return Math.abs(nowMs - ms) < 86_400_000 ? time : `${date} ${time.slice(0, 5)}`;
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
function changeLine(record: DecodedRecord, feed: ShownFeed, width: number, feedAsLabel: boolean): LineText {
  const { before, after, op } = record.value as ShownEnvelope;
  const { mark, word, style } = ops[op] ?? { mark: '?', word: op, style: 'plain' };
  const label = span(`${mark} ${feedAsLabel ? harmless(feed.name) : word}`, style);
  const { title, symbol, fields } = shownChange(feed, record);
  const titleCells = width < NARROW_CELLS ? 15 : 28;
  const facts = fields.map((one) => valueText(after === null ? one.before : one.after));
  const rest =
    op === 'u' && before !== null && after !== null
      ? changes(fields, after, width - SYMBOL_CELLS - titleCells - 1)
      : [span(facts.join(' · '), 'dim')];
  return { label, spans: [...headOf(symbol, title, titleCells), ...rest] };
}

/** As many `field before → after` as there is room for, and how many more there are. */
function changes(fields: readonly ShownField[], image: object, room: number): Span[] {
  const valueCells = room < 40 ? 10 : 28;
  const names = fields.map(({ field }) => field);
  const spans: Span[] = [];
  let left = room;
  let shown = 0;
  for (const { field, before, after } of fields.slice(0, MOST_CHANGES)) {
    const next = [
      ...(shown === 0 ? [] : [span(', ', 'dim')]),
      span(`${nameOf(field, names, image)} `, 'dim'),
      span(`${valueText(before, valueCells)} → `),
      span(valueText(after, valueCells), 'bold'),
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
function nameOf(field: string, changed: readonly string[], image: object): string {
  const last = fieldText(field);
  const isShared = changed.some((other) => other !== field && fieldText(other) === last);
  const isOther = field.includes('.') && Object.hasOwn(image, last);
  if (!isShared && !isOther && !field.startsWith('extra.')) return last;
  return harmless(field.replace(/^extra\./, ''));
}

function moreText(count: number): string {
  return ` +${count} more`;
}

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
function transitionLine(shown: ShownTransition, width: number): LineText {
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

/** Lines for highwater's own records, by their type. */
const ownLines = new Map<string, (value: never) => LineText>([
  ['highwater.SourceOffset', position],
  ['highwater.DeadLetter', deadLetter],
  ['highwater.Command', command],
]);

function position(offset: SourceOffset): LineText {
  const { feed, high_water_mark: mark, record_count, seq, commit, snapshot, parked, last_error } = offset;
  const facts = [
    mark === 0
      ? record_count === 0
        ? 'nothing read yet'
        : 'read whole'
      : `read to ${new Date(mark * 1_000).toISOString().slice(0, 19)}Z`,
    counted(record_count, 'record'),
    `seq ${seq}`,
    `commit ${commit}`,
    ...(snapshot === 'complete' ? [] : [`snapshot ${snapshot}`]),
    ...(offset.backfill === null ? [] : [`backfill ${offset.backfill.from} to ${offset.backfill.to}`]),
  ];
  const wrong = [
    ...(offset.paused ? ['paused'] : []),
    ...(parked === null ? [] : ['parked']),
    ...(last_error === null ? [] : [last_error]),
  ];
  return {
    label: span('= position', 'cyan'),
    spans: [
      span(`${harmless(feed)}  `, 'bold'),
      ...(wrong.length === 0 ? [] : [span(`${harmless(wrong.join(', '))}  `, 'red')]),
      span(facts.join(' · '), 'dim'),
    ],
  };
}

function deadLetter({ feed, reason, bytes, raw }: DeadLetterValue): LineText {
  return {
    label: span('✗ letter', 'red'),
    spans: [
      span(`${harmless(feed)}  `, 'bold'),
      span(harmless(reason), 'yellow'),
      span(`  ${counted(bytes, 'byte')}  ${harmless(raw.slice(0, 300).toWellFormed())}`, 'dim'),
    ],
  };
}

const kinds: Readonly<Record<string, Style>> = { request: 'bold', done: 'green', failed: 'red' };

function command(record: CommandRecord): LineText {
  const { kind, feed, command: name, asked_by, owner, summary, error } = record;
  const args = Object.entries(record.arguments).map(([key, value]) => `${key}=${value}`);
  const said: Span[] =
    error !== null
      ? [span(harmless(`${error.code}: ${error.message}`), 'red')]
      : summary !== null
        ? [span(harmless(summary))]
        : [span(harmless(kind === 'request' ? `asked by ${asked_by}` : `by ${owner ?? asked_by}`), 'dim')];
  return {
    label: span(`> ${kind}`, kinds[kind] ?? 'cyan'),
    spans: [span(`${harmless([name, feed, ...args].join(' '))}  `, 'bold'), ...said],
  };
}

const rounded = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/** A value in a few letters, for a person who watches; `--json` has it whole. */
function valueText(value: unknown, width = 28): string {
  if (typeof value === 'number' && Math.abs(value) >= 100_000) return rounded.format(value);
  if (Array.isArray(value) && value.length === 0) return 'none';
  return clip(vendorText(value) || '–', width);
}

/** The last part of a dotted name, as the vendor spells it: `ratings_accuracy._1m_stdev` → `1m_stdev`. */
function fieldText(path: string): string {
  return harmless(path.slice(path.lastIndexOf('.') + 1).replace(/^_(?=\d)/, ''));
}
