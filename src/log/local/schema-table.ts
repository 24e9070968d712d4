import type { SchemaTable } from '../../avro/registry/local-registry';
import { schemaQuery } from './file/reader-connection';
import { prepare } from './file/sqlite';
import type { ReadDeps } from './read';
import type { Writer } from './writer';

/** The `schemas` table of the log's file. */
export function schemaTable(deps: { reading: ReadDeps; openedWriter(): Writer }): SchemaTable {
  return {
    schemaById: (id) => deps.reading.reader()?.schemaById(id) ?? null,
    rows: () => deps.reading.reader()?.schemas() ?? [],
    transact: (work) =>
      deps.openedWriter().transact((db) =>
        work({
          all: schemaQuery(db),
          add({ id, subject, version, schema }) {
            prepare(db, 'INSERT INTO schemas VALUES (?, ?, ?, ?)').run([
              id,
              subject,
              version,
              JSON.stringify(schema),
            ]);
          },
        }),
      ),
  };
}
