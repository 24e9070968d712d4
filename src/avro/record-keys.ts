import type { KeyFields } from '../feeds/row-keys';
import { idPaths, joinedId } from '../feeds/row-keys';
import { timeReader } from '../feeds/time-format';
import { type FieldShape, fieldsAt, type RecordShape } from './record-shape';

type Values = Readonly<Record<string, unknown>>;

/** What `RowKeys` reads from a row, from the decoded fields of its record. */
export interface RecordKeys {
  /** Null if a field that belongs to it is null. */
  id(values: Values): string | null;
  /** Unix seconds; null if the field has no time in the feed's format. */
  updated(values: Values): number | null;
}

/** @param shape with a field for each member of the keys */
export function recordKeys(feed: KeyFields, shape: RecordShape): RecordKeys {
  const ids = idPaths(feed).map((path) => reader(fieldsAt(shape, path)!));
  const updated = feed.updatedField === null ? null : reader(fieldsAt(shape, feed.updatedField)!);
  const readTime = timeReader(feed.updatedFormat);
  const [only] = ids;
  const asText = (value: unknown) => (value === null || value === undefined ? null : String(value));
  return {
    id:
      ids.length === 1
        ? (values) => asText(only!(values))
        : (values) => joinedId(ids.map((read) => asText(read(values)))),
    updated: updated === null ? () => 0 : (values) => readTime(updated(values)),
  };
}

function reader(fields: readonly FieldShape[]): (values: Values) => unknown {
  const [first, ...within] = fields.map(({ name }) => name);
  if (within.length === 0) return (values) => values[first!];
  return (values) =>
    within.reduce<unknown>((value, name) => (value as Values | null)?.[name], values[first!]);
}
