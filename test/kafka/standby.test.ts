import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { cliPublisher } from '../support/cli-publisher';
import { kafkaWorld } from '../support/kafka-world';
import { groupBy } from '../support/log-records';
import { writeAgain } from '../support/records';
import { hasSmallDisks, onSmallDisk } from '../support/small-disk';
import { until } from '../support/until';

const world = kafkaWorld();
const { api, done, folder, publishing, records, start, stillPolled } = cliPublisher(world.env);
const store = () => api().stores.ipos;
const run = (name: string, under?: readonly string[]) =>
  start(
    ['run', '--log-level', 'debug', '--standby', '--state-dir', path.join(folder(), name)],
    { ...publishing(), HIGHWATER_FEEDS: 'ipos', KAFKA_SESSION_TIMEOUT: '6s' },
    under,
  );

const rename = (id: string, name: string) => writeAgain(store(), id, { name });
const publishes = (name: string) =>
  until(async () => (await records('ipos')).some(({ value }) => value!.after?.name === name));

it('takes over from a copy that it has kept current, by turns, and nothing is lost or twice', async () => {
  const ids = store().keys();
  let owner = run('first');
  await stillPolled('ipos');
  for (const [round, name] of ['second', 'first'].entries()) {
    const standby = run(name);
    await standby.sees(/A copy of feed ipos, which another instance may own, is here/, 'stderr');
    rename(ids[round]!, `before ${round}`);
    store().remove(ids[10 + round]!);
    store().upsert({ ...store().get(ids[20]!)!, id: `new ${round}` } as never);
    await publishes(`before ${round}`);
    expect((await done(['reconcile', 'ipos'])).code).toBe(0);
    // Behind the copy, if it is ended before it has read this.
    rename(ids[round]!, `at the end ${round}`);
    if (round === 0) await publishes(`at the end ${round}`);
    owner.signal(round === 1 ? 'SIGTERM' : 'SIGKILL');
    await standby.sees(/Feed ipos goes on with the images that it kept/, 'stderr');
    await publishes(`at the end ${round}`);
    expect(standby.stderr()).not.toMatch(/the log is read/);
    await owner.ended();
    owner = standby;
  }
  expect((await done(['reconcile', 'ipos'])).code).toBe(0);
  owner.signal('SIGTERM');
  expect((await owner.ended()).code).toBe(0);

  const changes = (await records('ipos')).map(({ value }) => value!);
  const times = groupBy(changes, ({ op, before, after }) =>
    JSON.stringify([op === 'r' ? 'c' : op, (after ?? before).id, after?.name]),
  );
  expect([...times].filter(([, all]) => all.length > 1).map(([which]) => which)).toStrictEqual([]);
  expect(changes.filter(({ op }) => op === 'd').map(({ before }) => before.id)).toEqual(ids.slice(10, 12));
});

const itOnSmallDisks = hasSmallDisks ? it : it.skip;

itOnSmallDisks('gives up a copy for which the disk is too small, and takes over without it', async () => {
  const key = store().keys()[0]!;
  for (let i = 0; i < 4_000; i++) writeAgain(store(), key, { id: `many ${i}`, name: `${i}`.padEnd(1_000) });
  const owner = run('first');
  await stillPolled('ipos');
  await publishes('3999'.padEnd(1_000));
  mkdirSync(path.join(folder(), 'second'));
  const standby = run('second', onSmallDisk(path.join(folder(), 'second'), 2));
  await standby.sees(/The copy of feed ipos does not follow the log: ENOSPC/, 'stderr');
  owner.signal('SIGTERM');
  await owner.ended();
  rename(store().keys()[1]!, 'after the end');
  await publishes('after the end');
  expect(standby.stderr()).not.toMatch(/is here and follows the log/);
  standby.signal('SIGTERM');
  expect((await standby.ended()).code).toBe(0);
});
