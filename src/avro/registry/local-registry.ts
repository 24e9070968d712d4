import { HighwaterError } from '../../errors';
import { incompatible, isSameSchema, type RegisteredVersion, schemaStanding } from './compatibility';
import { type AvroSchema, FULL_TRANSITIVE, type SchemaLookup, type SchemaRegistry } from './registry';

/** One version of a subject, as it is stored. The same id may stand under several subjects. */
export interface SchemaRow extends RegisteredVersion {
  readonly subject: string;
}

/** The table of the registry, in the file that it shares with the embedded log. */
export interface SchemaTable {
  /** The committed rows, without waiting for a writer; none while there is no file. */
  rows(): SchemaRow[];
  /** No other code, in this or another process, registers anything while `work` runs. */
  transact<T>(work: (rows: { all(): SchemaRow[]; add(row: SchemaRow): void }) => T): Promise<T>;
}

/** @param find the committed schema with an id; null if there is none */
export function localSchemas(find: (id: number) => AvroSchema | null): SchemaLookup {
  /** Ids never change their meaning. */
  const known = new Map<number, AvroSchema>();
  return {
    async schemaById(id) {
      const schema = known.get(id) ?? find(id);
      if (schema === null)
        throw new HighwaterError('SCHEMA_UNKNOWN', `the local registry has no schema with id ${id}`);
      known.set(id, schema);
      return schema;
    },
  };
}

/** The registry of the embedded log. */
export function localRegistry(schemas: SchemaLookup, table: SchemaTable): SchemaRegistry {
  return {
    ...schemas,
    isPartOfLog: true,
    async register(subject, schema) {
      return table.transact((rows) => {
        const all = rows.all();
        const versions = ofSubject(all, subject);
        const standing = schemaStanding(schema, versions);
        if (standing.state === 'registered') return standing.id;
        if (standing.state === 'incompatible') throw incompatible(subject, standing.reason);
        const newId =
          all.find((row) => isSameSchema(row.schema, schema))?.id ??
          Math.max(0, ...all.map((row) => row.id)) + 1;
        const version = (versions.at(-1)?.version ?? 0) + 1;
        rows.add({ id: newId, subject, version, schema });
        return newId;
      });
    },
    async inspect(subject, schema) {
      const versions = ofSubject(table.rows(), subject);
      return { ...schemaStanding(schema, versions), level: versions.length === 0 ? null : FULL_TRANSITIVE };
    },
  };
}

function ofSubject(rows: readonly SchemaRow[], subject: string): SchemaRow[] {
  return rows.filter((row) => row.subject === subject).sort((a, b) => a.version - b.version);
}
