import type { BatchContext, LogEvent, PositionStore } from 'highwater/consumer';
import type { Pool, PoolClient } from 'pg';

export interface ExactlyOnce {
  /** For the consumer: where this database stands. */
  readonly positions: PositionStore;
  /**
   * Writes the events of a batch and the position after them in one transaction.
   * @throws PositionMoved if the position is not where this process left it; then nothing is written
   */
  apply<Event extends LogEvent>(
    events: readonly Event[],
    place: BatchContext,
    write: (client: PoolClient, event: Event) => Promise<unknown>,
  ): Promise<void>;
}

/** Another process went on from the position that this one knows, or the answer to this one's commit was lost. */
export class PositionMoved extends Error {
  constructor({ topic, partition }: BatchContext, next: number) {
    super(
      `the position of ${topic}, partition ${partition}, is no longer ${next}. Either another process moved it, or the answer to a commit was lost. ` +
        'This batch was not written. Start the program again: it continues at the position in the database',
    );
    this.name = 'PositionMoved';
  }
}

/** A row of `positions`; `next` as Postgres prints a bigint. */
interface Row {
  readonly topic_id: string | null;
  readonly next: string | null;
}

/** The position of a partition as this process read or wrote it. */
interface Known extends Row {
  /** Events before it are written. 0 in a topic that was deleted and created again. */
  readonly begin: number;
}

/** The consumer's position is kept in the database that it fills: rows and position change together or not at all. */
export function exactlyOnce(pool: Pool): ExactlyOnce {
  const known = new Map<string, Known>();

  async function load(topic: string, partition: number, topicId: string | null): Promise<number | null> {
    const where = [topic, partition];
    await pool.query('INSERT INTO positions VALUES ($1, $2, NULL, NULL) ON CONFLICT DO NOTHING', where);
    // FOR UPDATE waits until Postgres has ended the transaction of a process that was killed in the middle of its commit.
    const select = 'SELECT topic_id, next FROM positions WHERE topic = $1 AND partition = $2 FOR UPDATE';
    const row = (await pool.query<Row>(select, where)).rows[0]!;
    const next = row.next !== null && row.topic_id === topicId ? Number(row.next) : null;
    known.set(`${topic} ${partition}`, { ...row, begin: next ?? 0 });
    return next;
  }

  return {
    positions: { load },
    async apply(events, place, write) {
      const { topic, partition, topicId, next } = place;
      const from = known.get(`${topic} ${partition}`)!;
      // A batch from before this process lost the partition and got it back.
      if (events[0]!.offset < from.begin) throw new PositionMoved(place, events[0]!.offset);
      await inTransaction(pool, async (client) => {
        // Waits for a transaction of another process, and then sees the position that it left.
        const moved = await client.query(
          `UPDATE positions SET topic_id = $3, next = $4 WHERE topic = $1 AND partition = $2
           AND topic_id IS NOT DISTINCT FROM $5 AND next IS NOT DISTINCT FROM $6`,
          [topic, partition, topicId, next, from.topic_id, from.next],
        );
        if (moved.rowCount === 0) throw new PositionMoved(place, from.begin);
        for (const event of events) await write(client, event);
      });
      known.set(`${topic} ${partition}`, { topic_id: topicId, next: String(next), begin: next });
    },
  };
}

async function inTransaction(pool: Pool, work: (client: PoolClient) => Promise<void>): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await work(client);
    // Postgres answers ROLLBACK if a statement failed and `work` went on.
    const { command } = await client.query('COMMIT');
    if (command !== 'COMMIT') throw new Error(`the transaction ended with ${command}: a statement failed`);
  } catch (error) {
    // Closes the connection, so Postgres undoes a transaction that is still open.
    client.release(true);
    throw error;
  }
  client.release();
}
