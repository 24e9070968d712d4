import type { SchemaRow, SchemaTable } from '../../avro/local-registry';
import type { ReadDeps } from './read';
import { prepare } from './sqlite';
import type { Writer } from './writer';

/** The `schemas` table of the log's file. */
export function schemaTable(deps: { reading: ReadDeps; openedWriter(): Writer }): SchemaTable {
  return {
    schemaById: (id) => deps.reading.reader()?.schemaById(id) ?? null,
    transact: (work) =>
      deps.openedWriter().transact((db) =>
        work({
          all() {
            const rows = prepare(db, 'SELECT id, subject, version, schema FROM schemas ORDER BY id, subject');
            return (rows.all() as [number, string, number, string][]).map(
              ([id, subject, version, schema]): SchemaRow => ({ id, subject, version, schema }),
            );
          },
          add({ id, subject, version, schema }) {
            prepare(db, 'INSERT INTO schemas VALUES (?, ?, ?, ?)').run([id, subject, version, schema]);
          },
        }),
      ),
  };
}
