import path from 'node:path';
import Database from 'libsql';
import { examplePrograms } from '../support/cli';
import { cliPublisher } from '../support/cli-publisher';
import { kafkaWorld } from '../support/kafka-world';
import { until } from '../support/until';

const topics = ['insights', 'analysts', 'ipos', 'insights.rating-changes', 'ipos.deal-status'];
const { env: log } = kafkaWorld();
const { folder, api, start: highwater, records } = cliPublisher(log);
const example = examplePrograms();

async function publish() {
  const publisher = highwater(['run', '--feeds', 'insights,analysts,ipos'], {
    HIGHWATER_API_URL: api().url,
    HIGHWATER_API_TOKEN: api().token,
    HIGHWATER_REQUESTS_PER_SECOND: '1000',
    HIGHWATER_POLL_INTERVAL: '100ms',
  });
  for (const feed of ['insights', 'analysts', 'ipos'])
    await publisher.sees(new RegExp(`${feed}: (first )?snapshot complete`), 'stderr');
  return publisher;
}

it('a database has every event once, though killed, and though two of them share the work', async () => {
  const publisher = await publish();
  for (let i = 0; i < 60; i++) api().marketDay.step();
  const known = async () => new Set((await records('ipos.current')).map(({ key }) => key)).size;
  await until(async () => (await known()) === api().truth('ipos').size);
  publisher.signal('SIGTERM');
  await publisher.ended();
  const all = await Promise.all(topics.map((topic) => records(topic)));
  const published = all.flatMap((topic) => topic.map(({ value }) => value!.event_id as string)).sort();

  const start = () => example(['exactly-once-sqlite/main.mts', 'events.db'], { cwd: folder(), env: log() });
  const killed = start();
  await killed.sees(/events\n/, 'stdout');
  killed.signal('SIGKILL');
  await killed.ended();
  const stored = () => {
    const db = new Database(path.join(folder(), 'events.db'), { timeout: 5_000 });
    const rows = db.prepare('SELECT id FROM events').all() as { id: string }[];
    db.close();
    return rows.map(({ id }) => id).sort();
  };
  const both = [start(), start()];
  await until(() => stored().length >= published.length);
  // One may have done it all before the other hears signals.
  for (const one of both) await one.sees(/Replaying into/, 'stderr');
  for (const one of both) one.signal('SIGINT');
  for (const one of both) expect((await one.ended()).code).toBe(0);
  expect(stored()).toEqual(published);
});

it('IPO alerts are told', async () => {
  const publisher = await publish();
  const program = example(['ipo-alerts/main.mts'], { cwd: folder(), env: log() });
  await program.sees(/Watching 60 IPOs/, 'stderr');
  await until(() => {
    api().marketDay.step();
    return / (NEW|PRICED|POSTPONED|WITHDRAWN) /.test(program.stdout());
  });
  program.signal('SIGINT');
  expect((await program.ended()).code).toBe(0);
  publisher.signal('SIGTERM');
  await publisher.ended();
});
