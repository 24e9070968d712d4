import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import Database from 'libsql';
import { root } from '../support/build';
import { type CliProcess, examplePrograms } from '../support/cli';
import { cliPublisher } from '../support/cli-publisher';
import { until } from '../support/until';

const topics = ['insights', 'analysts', 'ipos', 'insights.rating-changes', 'ipos.deal-status'];
const { folder, api, start: highwater, records } = cliPublisher(() => ({}));
const example = examplePrograms();

const replay = (dataDir = 'data') =>
  example(['exactly-once-sqlite/main.mts', 'events.db'], {
    cwd: folder(),
    env: { HIGHWATER_DATA_DIR: dataDir },
  });

async function publish(): Promise<CliProcess> {
  const publisher = highwater(['run', '--feeds', 'insights,analysts,ipos'], {
    HIGHWATER_API_URL: api().url,
    HIGHWATER_API_TOKEN: api().token,
    HIGHWATER_REQUESTS_PER_SECOND: '1000',
    HIGHWATER_POLL_INTERVAL: '50ms',
  });
  for (const feed of ['insights', 'analysts', 'ipos'])
    await publisher.sees(new RegExp(`${feed}: (first )?snapshot complete`), 'stderr');
  return publisher;
}

async function end(program: CliProcess, name: NodeJS.Signals): Promise<void> {
  program.signal(name);
  await program.ended();
}

async function publishedIds(): Promise<string[]> {
  const all = await Promise.all(topics.map((topic) => records(topic)));
  return all.flatMap((topic) => topic.map(({ value }) => value!.event_id as string)).sort();
}

/** The content of the database, including doubles. */
function storedIds(): string[] {
  const db = new Database(path.join(folder(), 'events.db'), { timeout: 5_000 });
  const rows = db.prepare('SELECT id FROM events ORDER BY id').all() as { id: string }[];
  db.close();
  return rows.map(({ id }) => id).sort();
}

it('has every event once, however often it is killed', async () => {
  const publisher = await publish();
  api().marketDay.start(5);
  for (let kills = 0; kills < 3; kills++) {
    const killed = replay();
    await killed.sees(/events\n/);
    // In the middle of any work.
    await delay(Math.random() * 100);
    await end(killed, 'SIGKILL');
  }
  api().marketDay.stop();
  await until(async () => (await records('ipos.current')).length === api().truth('ipos').size);
  await end(publisher, 'SIGTERM');
  const published = await publishedIds();

  const last = replay();
  await until(() => storedIds().length >= published.length);
  expect(await last.stop('SIGINT')).toEqual({ code: 0, signal: null });
  expect(last.stderr()).not.toMatch(/warn/i);
  expect(storedIds()).toEqual(published);
});

it('has every event once though two programs take themselves for the only one', async () => {
  const publisher = await publish();
  for (let i = 0; i < 200; i++) api().marketDay.step();
  await until(async () => (await records('ipos.current')).length === api().truth('ipos').size);
  await end(publisher, 'SIGTERM');
  const published = await publishedIds();
  // A log of its own, and so a group of its own: neither program hears of the other.
  cpSync(path.join(folder(), 'data'), path.join(folder(), 'twin'), { recursive: true });

  const db = new Database(path.join(folder(), 'events.db'));
  db.exec(readFileSync(path.join(root, 'examples', 'exactly-once-sqlite', 'schema.sql'), 'utf8'));
  db.exec(
    'PRAGMA journal_mode = WAL; CREATE TABLE positions (topic TEXT, partition INTEGER, topic_id TEXT, next INTEGER, PRIMARY KEY (topic, partition))',
  );
  // Both have asked for their places, and have their first events in hand, before either can write.
  db.exec('BEGIN IMMEDIATE');
  const both = [replay(), replay('twin')];
  for (const dataDir of ['data', 'twin']) await until(() => hasBegun(path.join(folder(), dataDir)));
  db.exec('COMMIT');
  db.close();
  for (const one of both) await one.sees(new RegExp(` ${published.length} events\n`));
  for (const one of both) await end(one, 'SIGINT');
  expect(storedIds()).toEqual(published);
});

it('reads a topic that was deleted and created again from its first event', () => {
  const script = `
    import Database from 'libsql';
    import { exactlyOnce } from './examples/exactly-once-sqlite/exactly-once.mts';
    const { positions, apply } = exactlyOnce(new Database(':memory:'));
    const written = [];
    const put = (topicId, offsets, next) =>
      apply(offsets.map((offset) => ({ offset })), { topic: 't', partition: 0, topicId, next }, ({ offset }) => written.push(topicId + offset));
    put('first', [0, 1], 2);
    put('first', [1, 2], 3);
    put('second', [0], 1);
    put('first', [1, 2], 3); // by a consumer that was asleep
    console.log(JSON.stringify([written, positions.load('t', 0, 'first'), positions.load('t', 0, 'second')]));`;
  const args = ['--import', 'tsx', '--input-type=module', '-e', script];
  const out = execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  expect(JSON.parse(out)).toEqual([['first0', 'first1', 'first2', 'second0'], 3, 1]);
});

/** Whether the log has the group's position, which is committed after the database was asked for its own. */
function hasBegun(dataDir: string): boolean {
  const file = path.join(dataDir, 'consumers', 'exactly-once-sqlite.db');
  if (!existsSync(file)) return false;
  const db = new Database(file, { timeout: 5_000 });
  try {
    return db.prepare('SELECT 1 FROM offsets').all().length > 0;
  } catch {
    return false; // its table is being made
  } finally {
    db.close();
  }
}
