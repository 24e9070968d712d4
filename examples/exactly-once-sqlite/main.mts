// Replays the whole history into an SQL database and follows it from there on. May be killed at any point, and started again.
import { connect } from 'highwater/consumer';
import { openDatabase } from './database.mts';
import { exactlyOnce } from './exactly-once.mts';

const file = process.argv[2] ?? 'events.db';
const db = openDatabase(file);
const { positions, apply } = exactlyOnce(db);
const insert = db.prepare('INSERT INTO events VALUES (?, ?, ?, ?, ?)');

const log = connect();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void log.close());
console.error(`Replaying into ${file}. Ctrl-C ends it.`);

let count = 0;
await log.consumeBatches(
  {
    group: 'exactly-once-sqlite',
    topics: ['insights', 'analysts', 'ipos', 'insights.rating-changes', 'ipos.deal-status'],
    from: 'beginning',
    positions,
  },
  (events, place) => {
    apply(events, place, ({ id, type, key, value }) => {
      const updated = 'source' in value ? value.source.updated : value.updated;
      insert.run(id, type, key, updated, JSON.stringify(value));
    });
    count += events.length;
    console.log(
      `${place.topic.padEnd(24)} ${place.partition}  ${String(place.next).padStart(7)}  ${count} events`,
    );
  },
);
db.close();
