import { isDeepStrictEqual } from 'node:util';
import { HighwaterError } from '../errors';
import { assertCompatible } from './compatibility';
import type { AvroSchema, SchemaRegistry } from './registry';

/** One version of a subject, as it is stored. The same id may stand under several subjects. */
export interface SchemaRow {
  readonly id: number;
  readonly subject: string;
  /** From 1, +1 per version of the subject. */
  readonly version: number;
  /** JSON text */
  readonly schema: string;
}

/** What the registry needs of the file that it shares with the embedded log. */
export interface SchemaTable {
  schemaById(id: number): AvroSchema | null;
  /** Nobody else, in this or another process, registers anything while `work` runs. */
  transact<T>(work: (rows: { all(): SchemaRow[]; add(row: SchemaRow): void }) => T): T;
}

/** The registry of the embedded log. */
export function localRegistry(table: SchemaTable): SchemaRegistry {
  /** Ids never change their meaning. */
  const known = new Map<number, AvroSchema>();
  return {
    async register(subject, schema) {
      const id = table.transact((rows) => {
        const all = rows.all().map((row) => ({ ...row, parsed: JSON.parse(row.schema) as AvroSchema }));
        const versions = all.filter((row) => row.subject === subject);
        // The order of attributes says nothing in JSON, so it makes no other schema.
        const isSame = (row: { parsed: AvroSchema }) => isDeepStrictEqual(row.parsed, schema);
        const registered = versions.find(isSame);
        if (registered !== undefined) return registered.id;
        assertCompatible(
          subject,
          schema,
          versions.map(({ version, parsed }) => ({ version, schema: parsed })),
        );
        const newId = all.find(isSame)?.id ?? Math.max(0, ...all.map((row) => row.id)) + 1;
        const version = Math.max(0, ...versions.map((row) => row.version)) + 1;
        rows.add({ id: newId, subject, version, schema: JSON.stringify(schema) });
        return newId;
      });
      known.set(id, schema);
      return id;
    },
    async schemaById(id) {
      const schema = known.get(id) ?? table.schemaById(id);
      if (schema === null)
        throw new HighwaterError('SCHEMA_UNKNOWN', `the local registry has no schema with id ${id}`);
      known.set(id, schema);
      return schema;
    },
  };
}
