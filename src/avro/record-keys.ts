import { type KeyFields, keysBy, type RowKeys } from '../feeds/row-keys';
import { type FieldShape, fieldsAt, type RecordShape } from './record-shape';

type Values = Readonly<Record<string, unknown>>;

/**
 * What `RowKeys` reads from a row, from the decoded fields of its record.
 * @param shape with a field for each member of the keys
 */
export function recordKeys(feed: KeyFields, shape: RecordShape): RowKeys {
  const asText = (value: unknown) => (value === null || value === undefined ? null : String(value));
  return keysBy(feed, (path) => reader(fieldsAt(shape, path)!), asText);
}

function reader(fields: readonly FieldShape[]): (values: unknown) => unknown {
  const [first, ...within] = fields.map(({ name }) => name);
  const read = (value: unknown, name: string) => (value as Values | null)?.[name];
  if (within.length === 0) return (values) => read(values, first!);
  return (values) => within.reduce(read, read(values, first!));
}
