import { readFileSync } from 'node:fs';
import pg from 'pg';

/** Postgres as `DATABASE_URL` or the variables of `psql` (`PGHOST`, …) name it, with the tables of schema.sql. */
export async function openDatabase(): Promise<pg.Pool> {
  const pool = new pg.Pool({
    connectionString: process.env.DATABASE_URL,
    application_name: 'exactly-once-postgres',
    connectionTimeoutMillis: 10_000,
    // A process on a machine that is cut off leaves a transaction open. Postgres ends it, and others wait no longer than this.
    idle_in_transaction_session_timeout: 20_000,
    lock_timeout: 30_000,
  });
  // A lost connection makes the next query fail. Without listeners it would end the process at once.
  const ignore = () => undefined;
  pool.on('error', ignore);
  pool.on('connect', (client) => client.on('error', ignore));
  await pool.query(readFileSync(new URL('schema.sql', import.meta.url), 'utf8'));
  return pool;
}
