import type { Type } from 'avsc';
import { forSchema } from '../../src/avro/codec/wire-type';
import type { SchemaLookup } from '../../src/avro/registry/registry';
import type { CommitLog, LogRecord } from '../../src/log/commit-log';
import { readAll } from './log-records';

// biome-ignore lint/suspicious/noExplicitAny: decoded records of any feed, as loose as a consumer's JSON
export type Values = Record<string, any>;

export interface Published extends LogRecord {
  /** Decoded with the schema it was written with; null for a tombstone. */
  readonly decoded: Values | null;
}

const types = new WeakMap<SchemaLookup, Map<number, Type>>();

/** Everything in a topic, in the order of arrival. */
export async function publishedIn(
  { commitLog, registry }: { readonly commitLog: CommitLog; readonly registry: SchemaLookup },
  topic: string,
): Promise<Published[]> {
  const known = types.get(registry) ?? new Map<number, Type>();
  types.set(registry, known);
  const found: Published[] = [];
  for (const record of await readAll(commitLog, [topic])) {
    const { value } = record;
    const id = value?.readUInt32BE(1) ?? 0;
    if (value !== null && !known.has(id)) known.set(id, forSchema(await registry.schemaById(id)));
    found.push({ ...record, decoded: value === null ? null : known.get(id)!.fromBuffer(value.subarray(5)) });
  }
  return found;
}
