import type { DecodedRecord } from '../../avro/codec/record-decoder';
import { subjectOf } from '../../format/subjects';
import { cellsOf, column, harmless } from '../terminal/cells';
import { ownLine } from '../terminal/own-line';
import { type LineText, painted, span } from '../terminal/spans';
import { valueText } from '../terminal/value-text';
import { changeLine } from './change-line';
import { transitionLine } from './transition-line';

export interface LineOptions {
  /** Cells of a line; Infinity where nobody counts them. */
  readonly width: number;
  readonly color: boolean;
  /** Label a change by its feed (`~ ipos`) instead of its op (`~ updated`): where several feeds are shown together. */
  readonly feedAsLabel: boolean;
  /** Room for the name of the topic; 0, or left out: it is not named. */
  readonly topicCells?: number;
}

const LABEL_CELLS = 12;
/** A long name must leave room for what happened. */
const MOST_TOPIC_CELLS = 24;

/** One record of the log as one line for a person: time, label, and what happened. */
export function eventLine(
  record: DecodedRecord,
  { width, color, feedAsLabel, topicCells = 0 }: LineOptions,
): string {
  const time = timeText(record.timestamp, Date.now());
  const ofTopic = topicCells === 0 ? 0 : Math.min(topicCells, MOST_TOPIC_CELLS, Math.floor(width / 4));
  const topic = ofTopic === 0 ? '' : `${column(harmless(record.topic), ofTopic)}  `;
  const headCells = time.length + 2 + cellsOf(topic) + LABEL_CELLS + 1;
  const { label, spans } = lineText(record, width - headCells, feedAsLabel);
  const head = [
    span(`${time}  `, 'dim'),
    span(topic, 'dim'),
    { ...label, text: `${column(harmless(label.text), LABEL_CELLS)} ` },
  ];
  return painted([...head, ...spans], width, color).trimEnd();
}

function lineText(record: DecodedRecord, width: number, feedAsLabel: boolean): LineText {
  if (record.value === null)
    return { label: span('x tombstone', 'red'), spans: [span(harmless(record.key))] };
  if (record.type?.endsWith('.Envelope')) return changeLine(record, width, feedAsLabel);
  return transitionLine(record, width) ?? ownLine(record) ?? otherLine(record);
}

/** An image, or an event type that was declared elsewhere. */
function otherLine({ type, key, headers, value }: DecodedRecord): LineText {
  const fallback = { key, symbol: headers.symbol };
  const { symbol, name, facts } = subjectOf(type ?? '', value as Record<string, unknown>, fallback);
  const rest =
    facts.length === 0 ? JSON.stringify(value) : facts.map(([, fact]) => valueText(fact)).join(' · ');
  return {
    label: span(`= ${(type ?? 'value').split('.').at(-1)}`, 'cyan'),
    spans: [
      ...(facts.length === 0
        ? [span(`${harmless([symbol, name].filter((text) => text !== '').join(' '))}  `, 'bold')]
        : [span(column(harmless(symbol), 6), 'bold'), span(`${column(harmless(name), 28)} `)]),
      span(harmless(rest), 'dim'),
    ],
  };
}

/** The clock of the last day, before it the date. */
function timeText(ms: number, nowMs: number): string {
  const [date = '', time = ''] = new Date(ms).toLocaleString('sv-SE').split(' ');
  return Math.abs(nowMs - ms) < 86_400_000 ? time : `${date} ${time.slice(0, 5)}`;
}
