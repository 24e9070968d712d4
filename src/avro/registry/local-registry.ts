import { HighwaterError } from '../../errors';
import { incompatible, isSameSchema, schemaStanding } from './compatibility';
import {
  type AvroSchema,
  FULL_TRANSITIVE,
  type RegisteredVersion,
  type SchemaLookup,
  type SchemaRegistry,
} from './registry';

/** One version of a subject, as it is stored. The same id may stand under several subjects. */
export interface SchemaRow extends RegisteredVersion {
  readonly subject: string;
}

/** The committed rows of the registry's table, in the file that it shares with the embedded log. No call waits for a writer. */
export interface SchemaRows {
  /** Null if there is none. */
  schemaById(id: number): AvroSchema | null;
  schemas(): SchemaRow[];
}

/** No other code, in this or another process, registers anything while `work` runs. */
export type SchemaTransact = <T>(
  work: (rows: { all(): SchemaRow[]; add(row: SchemaRow): void }) => T,
) => Promise<T>;

/** @param rows null while there is no file */
export function localSchemas(rows: () => SchemaRows | null): SchemaLookup {
  /** Ids never change their meaning. */
  const known = new Map<number, AvroSchema>();
  return {
    async schemaById(id) {
      const schema = known.get(id) ?? rows()?.schemaById(id) ?? null;
      if (schema === null)
        throw new HighwaterError('SCHEMA_UNKNOWN', `the local registry has no schema with id ${id}`);
      known.set(id, schema);
      return schema;
    },
    versions: async (subject) => ofSubject(rows()?.schemas() ?? [], subject),
  };
}

/** The registry of the embedded log. */
export function localRegistry(schemas: SchemaLookup, transact: SchemaTransact): SchemaRegistry {
  return {
    ...schemas,
    isPartOfLog: true,
    async register(subject, schema) {
      return transact((rows) => {
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
      const versions = await schemas.versions(subject);
      return { ...schemaStanding(schema, versions), level: versions.length === 0 ? null : FULL_TRANSITIVE };
    },
  };
}

function ofSubject(rows: readonly SchemaRow[], subject: string): SchemaRow[] {
  return rows.filter((row) => row.subject === subject).sort((a, b) => a.version - b.version);
}
