import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import pg from 'pg';
import type { BatchContext, LogEvent, PositionStore } from '../../src/consumer';

/** exactly-once.mts of the example. */
interface Recipe {
  exactlyOnce(pool: pg.Pool): {
    readonly positions: PositionStore;
    apply(
      events: readonly LogEvent[],
      place: BatchContext,
      write: (client: pg.PoolClient, event: LogEvent) => Promise<unknown>,
    ): Promise<void>;
  };
}

type Process = ReturnType<Recipe['exactlyOnce']>;

const topic = 'ipos.deal-status';
const insert = `INSERT INTO deal_status_changes (event_id, ipo, updated) VALUES ($1, '', 0)`;

/**
 * What the embedded log and kills cannot show: a topic that is created again, and batches that come too late.
 * @param url of a database with the tables of the example, empty
 * @throws Error if a position or a row is not as expected
 */
export async function checkPositions(example: string, url: string): Promise<void> {
  const file = pathToFileURL(path.join(example, 'exactly-once.mts')).href;
  const { exactlyOnce } = (await import(file)) as Recipe;
  const pool = new pg.Pool({ connectionString: url });
  // Each stands for a process.
  const [first, second] = [exactlyOnce(pool), exactlyOnce(pool)];
  try {
    expectSame('nothing is done', await first.positions.load(topic, 0, 'a'), null);
    await apply(first, 'a', 0, 5);
    expectSame('what is done', await second.positions.load(topic, 0, 'a'), 5);
    expectSame('done in a topic that was created again', await second.positions.load(topic, 0, 'b'), null);
    await apply(second, 'b', 0, 2);
    expectSame('a batch of a position that moved', await outcome(apply(first, 'a', 5, 7)), 'PositionMoved');
    expectSame('done in the new topic', await first.positions.load(topic, 0, 'b'), 2);
    expectSame('a batch from before that', await outcome(apply(first, 'b', 1, 3)), 'PositionMoved');
    const rows = (await pool.query('SELECT event_id FROM deal_status_changes ORDER BY written')).rows;
    const events = ['a0', 'a1', 'a2', 'a3', 'a4', 'b0', 'b1'];
    expectSame(
      'the rows',
      rows.map(({ event_id }) => event_id),
      events,
    );
  } finally {
    await pool.end();
  }
}

/** Handles the events at these offsets, `next` excluded. */
function apply({ apply }: Process, topicId: string, begin: number, next: number): Promise<void> {
  const offsets = Array.from({ length: next - begin }, (_, i) => begin + i);
  const events = offsets.map((offset) => ({ id: `${topicId}${offset}`, offset }) as LogEvent);
  const place = { topic, partition: 0, topicId, next } as BatchContext;
  return apply(events, place, (client, { id }) => client.query(insert, [id]));
}

/** @returns name of the error, or `done` */
function outcome(work: Promise<void>): Promise<string> {
  return work.then(
    () => 'done',
    (error: Error) => error.name,
  );
}

function expectSame(what: string, found: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(found, expected))
    throw new Error(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
}
