import { chownSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { freePort } from '../../tools/servers/ports';
import { ready, startProcess } from '../../tools/servers/server-process';
import { run } from './command';
import { MissingToolError } from './missing-tool';

export interface Postgres {
  /** Address of a database, for `DATABASE_URL`. */
  url(database: string): string;
  /** All that the server wrote. */
  output(): string;
  /** Resolves when it has ended and its files are gone. Open connections are cut. */
  stop(): Promise<void>;
}

const START_MS = 120_000;
/** `nobody`: Postgres refuses to run as root. */
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

/**
 * Starts a Postgres of this machine on a free port, with an empty cluster in a temporary folder.
 * @throws MissingToolError without Postgres
 */
export async function startPostgres(): Promise<Postgres> {
  const programs = findPostgres();
  const folder = mkdtempSync(path.join(tmpdir(), 'highwater-postgres-'));
  if (isRoot) chownSync(folder, NOBODY, NOBODY);
  const data = path.join(folder, 'data');
  const output = path.join(folder, 'postgres.out');
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    await makeCluster(path.join(programs, 'initdb'), data, folder);
  } catch (error) {
    remove();
    throw error;
  }
  const port = await freePort();
  const url = (database: string) => `postgres://desk@127.0.0.1:${port}/${database}`;
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=50'];
  const [command, ...args] = unprivileged([path.join(programs, 'postgres'), '-D', data, '-p', `${port}`]);
  const options = settings.flatMap((setting) => ['-c', setting]);
  const server = startProcess({
    command: command!,
    args: [...args, ...options],
    cwd: folder,
    output,
    folder,
  });
  const postgres: Postgres = {
    url,
    output: () => readFileSync(output, 'utf8'),
    async stop() {
      // SIGQUIT would leave no time; SIGTERM waits for clients, so they are cut first.
      await cutConnections(url('postgres')).catch(() => undefined);
      await server.stop();
      remove();
    },
  };
  try {
    await ready('Postgres', server, () => answers(url('postgres')), START_MS);
    return postgres;
  } catch (error) {
    await server.kill();
    remove();
    throw error;
  }
}

/** Debian keeps the programs of the server out of PATH. @returns their folder */
function findPostgres(): string {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).toSorted((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...(process.env.PATH ?? '').split(path.delimiter),
    ...versions.map((version) => path.join(debian, version, 'bin')),
  ];
  const found = folders.find((folder) =>
    ['initdb', 'postgres'].every((name) => existsSync(path.join(folder, name))),
  );
  if (found !== undefined) return found;
  throw new MissingToolError('Postgres was not found', 'Install it (on Debian: postgresql)', undefined);
}

async function makeCluster(initdb: string, data: string, cwd: string): Promise<void> {
  const how = ['--username=desk', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'];
  const [program, ...args] = unprivileged([initdb, '-D', data, ...how]);
  const { code, stdout, stderr } = await run(program!, args, { cwd, env: process.env, withinMs: START_MS });
  if (code !== 0) throw new Error(`initdb ended with ${code}:\n${stdout}${stderr}`);
}

/** A command line that is run as `nobody`, in the same process, if this one is root. */
function unprivileged(command: readonly string[]): readonly string[] {
  return isRoot
    ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', ...command]
    : command;
}

/** @throws Error while no connection is possible */
async function answers(url: string): Promise<void> {
  await inDatabase(url, async (client) => void (await client.query('SELECT 1')));
}

async function cutConnections(url: string): Promise<void> {
  const others = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                  WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`;
  await inDatabase(url, async (client) => void (await client.query(others)));
}

/** Works with a connection, which is closed at the end. */
export async function inDatabase<Result>(
  url: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
