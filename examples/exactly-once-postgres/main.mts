// Copies the status changes of IPOs into Postgres, each exactly once. May be killed at any point, and started again.
import { connect } from 'highwater/consumer';
import { openDatabase } from './database.mts';
import { exactlyOnce, PositionMoved } from './exactly-once.mts';

const pool = await openDatabase();
const { positions, apply } = exactlyOnce(pool);
const insert = `INSERT INTO deal_status_changes (event_id, ipo, name, ticker, previous_status, status, updated)
                VALUES ($1, $2, $3, $4, $5, $6, $7)`;

const log = connect();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void log.close());
console.error('Copying ipos.deal-status into deal_status_changes. Ctrl-C ends it.');

let count = 0;
await log.consumeBatches(
  {
    group: 'exactly-once-postgres',
    topics: ['ipos.deal-status'],
    from: 'beginning',
    positions,
    // No other try would find the position where this process left it.
    retry: { isRetriable: (error) => !(error instanceof PositionMoved) },
  },
  async (events, place) => {
    await apply(events, place, (client, { value }) => {
      const { event_id, id, name, ticker, previous_status, status, updated } = value;
      return client.query(insert, [event_id, id, name, ticker, previous_status, status, updated]);
    });
    count += events.length;
    console.log(
      `${place.topic}  ${place.partition}  ${String(place.next).padStart(7)}  ${count} events written`,
    );
  },
);
await pool.end();
