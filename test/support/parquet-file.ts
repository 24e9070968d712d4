import { type AsyncBuffer, parquetMetadata, parquetReadObjects } from 'hyparquet';

/** What a reader that knows nothing of highwater finds in a Parquet file: the rows, and the types by dotted path. */
export async function parquetFile(bytes: Uint8Array) {
  const buffer = new Uint8Array(bytes).buffer;
  const file: AsyncBuffer = { byteLength: buffer.byteLength, slice: (from, to) => buffer.slice(from, to) };
  const rows = (await parquetReadObjects({ file, utf8: false })) as Record<string, unknown>[];
  const { schema, row_groups } = parquetMetadata(buffer);
  return {
    rows: rows.map((row) => nullsIn(row) as Record<string, unknown>),
    schema,
    groups: row_groups.map(({ num_rows }) => Number(num_rows)),
  };
}

/** The reader leaves nulls within structs and lists undefined. */
function nullsIn(value: unknown): unknown {
  if (value === undefined || value === null) return null;
  if (Array.isArray(value)) return value.map(nullsIn);
  if (typeof value !== 'object' || value.constructor !== Object) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, nullsIn(one)]));
}
