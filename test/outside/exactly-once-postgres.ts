import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import type pg from 'pg';
import { connect } from '../../src/consumer';
import { type Simulator, startSimulator } from '../../src/simulator/simulator';
import { type CliProcess, cliStarter, programStarter, type Starter } from '../faults/cli-process';
import { root } from '../support/build';
import { until } from '../support/until';
import { checkPositions } from './exactly-once-positions';
import { inDatabase, type Postgres, startPostgres } from './postgres';
import type { Step } from './run';

const example = path.join(root, 'examples', 'exactly-once-postgres');
const topic = 'ipos.deal-status';
const KILLS = 14;
/** Enough for events in every partition. */
const IPOS = 60;
const PARTITIONS = 3;
const MOVE_EVERY_MS = 20;
/** How long the database takes for each row, so that a transaction lasts and can be hit. */
const ROW_MS = 10;
/** An advisory lock of Postgres. */
const GATE = 1;
const statuses = ['Priced', 'Postponed', 'Withdrawn', 'Initial Filing', 'Amended Filing'];

/** What the test works with. */
interface Scene {
  readonly postgres: Postgres;
  /** The publisher runs here; its log is in `data`. */
  readonly folder: string;
  readonly highwater: Starter;
  readonly programs: Starter;
  readonly simulator: Simulator;
}

/** An event in the topic or a row of the table, by the columns that both have. */
interface Moved {
  readonly event_id: string;
  readonly ipo: string;
  readonly previous_status: string | null;
  readonly status: string | null;
}

/** The topic. */
interface Published {
  readonly moves: readonly Moved[];
  /** Sum of the ends of its partitions. */
  readonly end: number;
}

/** The program of examples/exactly-once-postgres on a real Postgres. */
export const exactlyOncePostgres: Step = {
  name: 'examples/exactly-once-postgres has each event in Postgres once and in order, though it is killed, and though two run at once',
  async run() {
    const ends: (() => Promise<void>)[] = [];
    const folder = mkdtempSync(path.join(tmpdir(), 'highwater-once-'));
    try {
      const postgres = await startPostgres();
      ends.push(postgres.stop);
      const simulator = await startSimulator({ records: { insights: 1, analysts: 1, ipos: IPOS } });
      ends.push(simulator.stop);
      const loader = pathToFileURL(require.resolve('tsx')).href;
      const programs = programStarter(['--import', loader, path.join(example, 'main.mts')]);
      ends.push(programs.killAll);
      const highwater = await cliStarter();
      ends.push(highwater.killAll);
      const scene: Scene = { postgres, folder, highwater, programs, simulator };

      const torn = await killedOften(scene);
      const published = await readTopic(folder);
      await catchesUp(scene, 'killed', published);
      await twoAtOnce(scene, published);
      await makeDatabase(postgres, 'positions', schema());
      await checkPositions(example, postgres.url('positions'));
      const { length } = published.moves;
      process.stdout.write(`        ${length} events; ${KILLS} kills tore ${torn} transactions\n`);
    } finally {
      for (const end of ends.toReversed()) await end();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/**
 * Publishes moves and kills the program again and again, until all of them are published.
 * @returns how many transactions were open when their process was killed, as the server saw it; up to one for each partition
 */
async function killedOften(scene: Scene): Promise<number> {
  const { postgres, simulator } = scene;
  await makeDatabase(postgres, 'killed', `${schema()}${slowRows}`);
  const publisher = startPublisher(scene);
  await until(() => said(publisher, /snapshot complete/));
  const moves = setInterval(() => move(simulator), MOVE_EVERY_MS);
  try {
    for (let kill = 0; kill < KILLS; kill++) await killInTheMiddle(scene, kill % 2 === 0);
  } finally {
    clearInterval(moves);
  }
  publisher.signal('SIGTERM');
  await exitCode(publisher);
  const last = startPublisher(scene, '--once');
  if ((await exitCode(last)) !== 0) throw new Error(`the publisher failed:\n${last.output()}`);
  const torn = postgres.output().match(/with an open transaction|connection to client lost/g)?.length ?? 0;
  if (torn < KILLS / 4) throw new Error(`${KILLS} kills tore only ${torn} transactions`);
  return torn;
}

/** @param inTransaction kills while the program writes rows, else at any moment after its first commit */
async function killInTheMiddle(scene: Scene, inTransaction: boolean): Promise<void> {
  const program = startProgram(scene, 'killed');
  if (inTransaction) await inDatabase(scene.postgres.url('killed'), (client) => writes(client, program));
  else {
    await until(() => said(program, /events written\n/));
    await delay(Math.random() * 200);
  }
  running(program);
  program.signal('SIGKILL');
  await program.exited;
}

/** Resolves when Postgres sees a row being written by the program. */
async function writes(client: pg.Client, program: CliProcess): Promise<void> {
  const writing = `SELECT FROM pg_stat_activity WHERE application_name = 'exactly-once-postgres'
                   AND state = 'active' AND query LIKE 'INSERT INTO deal_status_changes%'`;
  await until(async () => running(program) && (await client.query(writing)).rowCount! > 0);
}

/** Two programs write into one empty database. Neither hears of the other, because each has a copy of the log. */
async function twoAtOnce(scene: Scene, published: Published): Promise<void> {
  const { postgres, folder } = scene;
  await makeDatabase(postgres, 'contested', `${schema()}${gate}`);
  cpSync(path.join(folder, 'data'), path.join(folder, 'twin'), { recursive: true });
  const both = await inDatabase(postgres.url('contested'), async (client) => {
    // Each has read all positions and holds its first batches before either can write.
    await client.query(`SELECT pg_advisory_lock(${GATE})`);
    const started = ['data', 'twin'].map((dataDir) => startProgram(scene, 'contested', dataDir));
    const waiting = "SELECT FROM pg_locks WHERE NOT granted AND mode = 'ShareLock' AND locktype = 'advisory'";
    await until(
      async () => started.every(running) && (await client.query(waiting)).rowCount! >= 2 * PARTITIONS,
    );
    await client.query(`SELECT pg_advisory_unlock(${GATE})`);
    return started;
  });
  const all = ` ${published.moves.length} events written`;
  // A program that is not refused writes everything, too, and then the table has doubles.
  await until(() => both.some((one) => one.hasExited()) || both.every((one) => one.output().includes(all)));
  for (const refused of both.filter((one) => one.hasExited()))
    if ((await exitCode(refused)) !== 1 || !refused.output().includes('is no longer'))
      throw new Error(`the program was not refused:\n${refused.output()}`);
  for (const one of both) one.signal('SIGKILL');
  await Promise.all(both.map((one) => one.exited));
  await catchesUp(scene, 'contested', published);
}

/** Starts the program once more, and compares the table with the topic when it has all events. */
async function catchesUp(scene: Scene, database: string, published: Published): Promise<void> {
  const program = startProgram(scene, database);
  const rows = await inDatabase(scene.postgres.url(database), async (client) => {
    // By then it listens to signals.
    await until(() => said(program, /Ctrl-C ends it/));
    const position = 'SELECT sum(next)::int AS position FROM positions';
    await until(
      async () => running(program) && (await client.query(position)).rows[0].position >= published.end,
    );
    program.signal('SIGINT');
    if ((await exitCode(program)) !== 0) throw new Error(`the program failed:\n${program.output()}`);
    const columns = 'event_id, ipo, previous_status, status';
    return (await client.query<Moved>(`SELECT ${columns} FROM deal_status_changes ORDER BY written`)).rows;
  });
  // Missing events and doubles show as other lists.
  const [found, expected] = [byIpo(rows), byIpo(published.moves)];
  for (const ipo of new Set([...found.keys(), ...expected.keys()]))
    if (!isDeepStrictEqual(found.get(ipo), expected.get(ipo)))
      throw new Error(
        `${database}: ${rows.length} rows, ${published.moves.length} events. IPO ${ipo} in the table and in the topic:\n` +
          `${JSON.stringify(found.get(ipo))}\n${JSON.stringify(expected.get(ipo))}`,
      );
}

function byIpo(moves: readonly Moved[]): Map<string, Moved[]> {
  const found = new Map<string, Moved[]>();
  for (const { event_id, ipo, previous_status, status } of moves)
    found.set(ipo, [...(found.get(ipo) ?? []), { event_id, ipo, previous_status, status }]);
  return found;
}

async function readTopic(folder: string): Promise<Published> {
  const log = connect({ dataDir: path.join(folder, 'data') });
  const moves: Moved[] = [];
  const ends = new Map<number, number>();
  for await (const { value, partition, offset } of log.read(topic)) {
    moves.push({ ...value, ipo: value.id });
    ends.set(partition, offset + 1);
  }
  await log.close();
  return { moves, end: [...ends.values()].reduce((sum, end) => sum + end, 0) };
}

function startPublisher({ highwater, simulator, folder }: Scene, ...args: string[]): CliProcess {
  const env = {
    HIGHWATER_API_URL: simulator.url,
    HIGHWATER_API_TOKEN: simulator.token,
    HIGHWATER_POLL_INTERVAL: '50ms',
    HIGHWATER_REQUESTS_PER_SECOND: '1000',
  };
  return highwater.start(['run', '--feeds', 'ipos', ...args], { env, cwd: folder });
}

function startProgram({ programs, postgres, folder }: Scene, database: string, dataDir = 'data'): CliProcess {
  const env = { DATABASE_URL: postgres.url(database), HIGHWATER_DATA_DIR: dataDir };
  return programs.start([], { env, cwd: folder });
}

/** @throws Error with its output if the process has ended */
function running(program: CliProcess): true {
  if (program.hasExited()) throw new Error(`the program has ended:\n${program.output()}`);
  return true;
}

/** @throws Error if it does not end in time */
async function exitCode(program: CliProcess): Promise<number | null> {
  await until(() => program.hasExited());
  return program.exited;
}

function said(program: CliProcess, pattern: RegExp): boolean {
  return pattern.test(program.output()) || !running(program);
}

/** One IPO gets another status. */
function move({ stores }: Simulator): void {
  const pick = <One>(from: readonly One[]): One => from[Math.floor(Math.random() * from.length)]!;
  const id = pick([...stores.ipos.keys()]);
  const { updated: _, ...ipo } = stores.ipos.get(id)!;
  const others = statuses.filter((status) => status !== ipo.deal_status);
  stores.ipos.upsert({ ...ipo, deal_status: pick(others) } as never);
}

function schema(): string {
  return readFileSync(path.join(example, 'schema.sql'), 'utf8');
}

const slowRows = `
  CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_sleep(${ROW_MS / 1_000}); RETURN NEW; END';
  CREATE TRIGGER slow BEFORE INSERT ON deal_status_changes FOR EACH ROW EXECUTE FUNCTION slow()`;

/** Before an update of a position, and so before it locks the row, the program waits until the gate is open. */
const gate = `
  CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_advisory_xact_lock_shared(${GATE}); RETURN NULL; END';
  CREATE TRIGGER gate BEFORE UPDATE ON positions FOR EACH STATEMENT EXECUTE FUNCTION gate()`;

async function makeDatabase({ url }: Postgres, name: string, sql: string): Promise<void> {
  await inDatabase(url('postgres'), (client) => client.query(`CREATE DATABASE ${name}`));
  await inDatabase(url(name), (client) => client.query(sql));
}
