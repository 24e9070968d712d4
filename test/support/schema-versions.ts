import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { forSchema } from '../../src/avro/codec/wire-type';
import type { AvroSchema } from '../../src/avro/registry/registry';
import { envelopeOf, type FieldSchema, type RecordSchema } from '../../src/avro/schemas';
import type { Feed } from '../../src/feeds/feed';
import type { Values } from './published';
import type { TestPublisher } from './test-publisher';

/** Files with versions of a schema, until `remove`. */
export function schemaFiles(): { add(schema: RecordSchema): string; remove(): void } {
  const folder = mkdtempSync(path.join(tmpdir(), 'highwater-schemas-'));
  let count = 0;
  return {
    add(schema) {
      const file = path.join(folder, `${++count}.avsc`);
      writeFileSync(file, JSON.stringify(schema));
      return file;
    },
    remove: () => rmSync(folder, { recursive: true }),
  };
}

/** Dotted vendor paths of all fields, without the fields of every record. */
export function fieldPaths(schema: RecordSchema): string[] {
  const collect = (fields: readonly FieldSchema[], prefix: string): string[] =>
    fields.flatMap((field) => {
      const own = prefix + vendorNameOf(field);
      const within = nestedRecord(field);
      return within === null ? [own] : [own, ...collect(within.fields, `${own}.`)];
    });
  return collect(schema.fields, '').filter((own) => !['id', 'updated', 'extra'].includes(own));
}

/** The record that a field holds, also in a union with null; null if it holds something else. */
export function nestedRecord({ type }: FieldSchema): RecordSchema | null {
  const branches = (Array.isArray(type) ? type : [type]) as readonly AvroSchema[];
  const isRecord = (branch: AvroSchema) =>
    typeof branch === 'object' && 'type' in branch && branch.type === 'record';
  return (branches.find(isRecord) as RecordSchema | undefined) ?? null;
}

function vendorNameOf({ name, vendorName = name }: FieldSchema): string {
  return vendorName;
}

/** A version of a schema that lacks some fields. */
export function without(schema: RecordSchema, paths: readonly string[], prefix = ''): RecordSchema {
  const fields = schema.fields
    .filter((field) => !paths.includes(prefix + vendorNameOf(field)))
    .map((field) => {
      const within = nestedRecord(field);
      if (within === null) return field;
      const narrower = without(within, paths, `${prefix}${vendorNameOf(field)}.`);
      const { type } = field;
      return {
        ...field,
        type: Array.isArray(type) ? type.map((one) => (one === within ? narrower : one)) : narrower,
      };
    });
  return { ...schema, fields };
}

/** The change events of a feed as a consumer reads them by a record schema of its own, in the order of their numbers. */
export async function readBy(schema: RecordSchema, feed: Feed, publisher: TestPublisher): Promise<Values[]> {
  const type = (of: unknown) => forSchema(of as never);
  const reader = type(envelopeOf(feed, schema));
  const events: Values[] = [];
  for (const { key, value } of await publisher.topic(feed.topic)) {
    const writer = type(await publisher.log.registry.schemaById(value!.readUInt32BE(1)));
    events.push({ key, ...(reader.fromBuffer(value!.subarray(5), reader.createResolver(writer)) as Values) });
  }
  return events.sort((a, b) => a.source.seq - b.source.seq);
}
