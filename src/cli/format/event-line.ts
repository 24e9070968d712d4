import type { DecodedRecord } from '../../avro/record-decoder';
import { subjectOf } from '../../format/subjects';
import { column, harmless } from './cells';
import { changeLine } from './change-line';
import { type LineText, painted, span } from './spans';
import { transitionLine } from './transition-line';
import { valueText } from './value-text';

export interface LineOptions {
  /** Cells of a line; Infinity where nobody counts them. */
  readonly width: number;
  readonly color: boolean;
  /** Label a change by its feed (`~ ipos`) instead of its op (`~ updated`): where several feeds are shown together. */
  readonly feedAsLabel: boolean;
}

const LABEL_CELLS = 12;
const HEAD_CELLS = 'HH:MM:SS  '.length + LABEL_CELLS + 1;

/** One record of the log as one line for a person: time, label, and what happened. */
export function eventLine(record: DecodedRecord, { width, color, feedAsLabel }: LineOptions): string {
  const { label, spans } = lineText(record, width - HEAD_CELLS, feedAsLabel);
  const head = [
    span(`${clockTime(record.timestamp)}  `, 'dim'),
    { ...label, text: `${column(harmless(label.text), LABEL_CELLS)} ` },
  ];
  return painted([...head, ...spans], width, color).trimEnd();
}

function lineText(record: DecodedRecord, width: number, feedAsLabel: boolean): LineText {
  if (record.value === null)
    return { label: span('x tombstone', 'red'), spans: [span(harmless(record.key))] };
  if (record.type?.endsWith('.Envelope')) return changeLine(record, width, feedAsLabel);
  return transitionLine(record, width) ?? otherLine(record);
}

/** An image, a source offset, a dead letter, or an event type that was declared elsewhere. */
function otherLine({ type, key, headers, value }: DecodedRecord): LineText {
  const fallback = { key, symbol: headers.symbol };
  const { symbol, name, facts } = subjectOf(type ?? '', value as Record<string, unknown>, fallback);
  const rest =
    facts.length === 0 ? JSON.stringify(value) : facts.map(([, fact]) => valueText(fact)).join(' · ');
  return {
    label: span(`= ${(type ?? 'value').split('.').at(-1)}`, 'cyan'),
    spans: [
      span(`${harmless([symbol, name].filter((text) => text !== '').join(' '))}  `, 'bold'),
      span(harmless(rest), 'dim'),
    ],
  };
}

function clockTime(ms: number): string {
  return new Date(ms).toLocaleTimeString('en-GB', { hour12: false });
}
