import Big from 'big.js';
import type { SchemaElement } from 'hyparquet-writer' with { 'resolution-mode': 'import' };
import { HighwaterError } from '../../errors';
import { recordJson } from '../../json/json-text';
import { type Column, cellNames, cells, converted, readable } from './columns';
import type { Output } from './output';

export const formats = ['parquet', 'ndjson', 'csv'] as const;
export type Format = (typeof formats)[number];

/** Writes rows, each with a value for every column. */
export interface RowWriter {
  /** @param bytes about how much memory the row takes. @throws HighwaterError EXPORT_* */
  add(row: readonly unknown[], bytes: number): Promise<void>;
  /** Writes what is left. The output is not finished. @throws HighwaterError EXPORT_* */
  end(): Promise<void>;
}

/** Rows are written in one go when they have so many characters. */
const TEXT_AT_ONCE = 65_536;
/** A row group ends with so many rows, or bytes of values: its rows are in memory, several times as large. */
const [GROUP_ROWS, GROUP_BYTES] = [10_000, 8_000_000];

export async function rowWriter(
  format: Format,
  columns: readonly Column[],
  output: Output,
  scale: number | null,
): Promise<RowWriter> {
  if (format === 'parquet') return parquetWriter(columns, output, scale);
  const toText = (row: readonly unknown[]): unknown[] =>
    columns.map((column, i) => converted(column, row[i], readable));
  if (format === 'csv') {
    const line = (values: readonly unknown[]) =>
      columns.flatMap((column, i) => cells(column, values[i])).join(',');
    return textWriter(
      `${columns.flatMap(cellNames).join(',')}\r\n`,
      (row) => `${line(toText(row))}\r\n`,
      output,
    );
  }
  const members = (values: readonly unknown[]) => columns.map(({ name }, i) => [name, values[i]]);
  return textWriter('', (row) => `${recordJson(Object.fromEntries(members(toText(row))))}\n`, output);
}

function textWriter(head: string, line: (row: readonly unknown[]) => string, output: Output): RowWriter {
  let text = head;
  const flush = async (): Promise<void> => {
    const all = text;
    text = '';
    if (all !== '') await output.write(all);
  };
  return {
    async add(row) {
      text += line(row);
      if (text.length >= TEXT_AT_ONCE) await flush();
    },
    end: flush,
  };
}

async function parquetWriter(
  columns: readonly Column[],
  output: Output,
  scale: number | null,
): Promise<RowWriter> {
  // An ES module, and only this format needs it.
  const { ByteWriter, ParquetWriter } = await import('hyparquet-writer');
  const bytes = new ByteWriter();
  const root = { name: 'root', num_children: columns.length };
  const schema = [root, ...columns.flatMap((column) => elements(column, scale))];
  const parquet = new ParquetWriter({ writer: bytes, schema, createdBy: 'highwater' });
  let data: unknown[][] = columns.map(() => []);
  let size = 0;
  const flush = async (): Promise<void> => {
    const chunk = bytes.getBytes().slice();
    // It goes on counting the offsets in the file.
    bytes.index = 0;
    await output.write(chunk);
  };
  const writeGroup = async (): Promise<void> => {
    const rowGroupSize = data[0]!.length;
    if (rowGroupSize === 0) return;
    parquet.write({ columnData: columns.map(({ name }, i) => ({ name, data: data[i]! })), rowGroupSize });
    data = columns.map(() => []);
    size = 0;
    await flush();
  };
  return {
    async add(row, rowBytes) {
      const values = columns.map((column, i) =>
        converted(column, row[i], (of, one) => physical(of, one, scale)),
      );
      for (const [i, value] of values.entries()) data[i]!.push(value);
      size += rowBytes;
      if (data[0]!.length >= GROUP_ROWS || size >= GROUP_BYTES) await writeGroup();
    },
    async end() {
      await writeGroup();
      parquet.finish();
      await flush();
    },
  };
}

type Element = SchemaElement;
const text: Partial<Element> = { type: 'BYTE_ARRAY', converted_type: 'UTF8' };
const time = (unit: 'MILLIS' | 'MICROS'): Partial<Element> => ({
  type: 'INT64',
  logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit },
});

const physicalTypes: Readonly<Record<Column['kind'], Partial<Element>>> = {
  string: text,
  json: text,
  decimal: text,
  boolean: { type: 'BOOLEAN' },
  int: { type: 'INT32' },
  long: { type: 'INT64' },
  float: { type: 'FLOAT' },
  double: { type: 'DOUBLE' },
  date: { type: 'INT32', converted_type: 'DATE' },
  'timestamp-millis': time('MILLIS'),
  'timestamp-micros': time('MICROS'),
  struct: {},
  list: { converted_type: 'LIST' },
};

/** Digits of a DECIMAL, the most that 16 bytes and DuckDB take. */
const PRECISION = 38;

/** A column and what is within it, in the order of Parquet's schema. Every value may be null. */
function elements({ name, kind, children }: Column, scale: number | null): Element[] {
  const within = children.flatMap((child) => elements(child, scale));
  const one: Element = { name, repetition_type: 'OPTIONAL', ...physicalTypes[kind] };
  if (kind === 'struct') return [{ ...one, num_children: children.length }, ...within];
  if (kind === 'list')
    return [
      { ...one, num_children: 1 },
      { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
      ...within,
    ];
  if (kind !== 'decimal' || scale === null) return [one];
  const decimal = { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, converted_type: 'DECIMAL' } as const;
  return [{ ...one, ...decimal, precision: PRECISION, scale }];
}

/** A value as Parquet's writer takes it. @throws HighwaterError EXPORT_VALUE */
function physical({ name, kind }: Column, value: unknown, scale: number | null): unknown {
  if (kind === 'json') return recordJson(value);
  if (kind === 'long' || kind.startsWith('timestamp')) return BigInt(value as number);
  return kind === 'decimal' && scale !== null ? unscaled(name, String(value), scale) : value;
}

/** Null for an empty text: vendors write it for an unknown number. @throws HighwaterError EXPORT_VALUE */
function unscaled(name: string, value: string, scale: number): bigint | null {
  if (value.trim() === '') return null;
  const number = /^[+-]?[\d.]/.test(value) && value.length < 400 ? parsed(value)?.times(`1e${scale}`) : null;
  const digits = number?.toFixed();
  if (digits !== undefined && /^-?\d{1,38}$/.test(digits)) return BigInt(digits);
  const what = number ? `does not fit DECIMAL(${PRECISION},${scale})` : 'is not a number';
  throw new HighwaterError('EXPORT_VALUE', `${name} ${JSON.stringify(value.slice(0, 100))} ${what}`);
}

function parsed(value: string): Big | null {
  try {
    return new Big(value);
  } catch {
    return null;
  }
}
