import type { DecodedRecord } from '../../avro/codec/record-decoder';
import { valueAt } from '../../avro/path';
import { usualShape } from '../../feeds/definition';
import { type ShownFeed, shownRecord, shownTransition } from '../../format/display';
import { recordJson } from '../../json/json-text';
import { cellsOf, column, harmless } from '../terminal/cells';
import { ownLine } from '../terminal/own-line';
import { type LineText, painted, span } from '../terminal/spans';
import { valueText } from '../terminal/value-text';
import { changeLine } from './change-line';
import { transitionLine } from './transition-line';

export interface LineOptions {
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
  const own = ownLine(record);
  if (own !== null) return own;
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
  const { title, symbol, facts } = shownRecord(feed, record, key);
  return {
    label,
    spans: [
      span(column(harmless(symbol), 6), 'bold'),
      span(`${column(harmless(title), 28)} `),
      span(facts.map((path) => valueText(valueAt(record, path))).join(' · '), 'dim'),
    ],
  };
}

/** The clock of the last day, before it the date. */
function timeText(ms: number, nowMs: number): string {
  const [date = '', time = ''] = new Date(ms).toLocaleString('sv-SE').split(' ');
  return Math.abs(nowMs - ms) < 86_400_000 ? time : `${date} ${time.slice(0, 5)}`;
}
