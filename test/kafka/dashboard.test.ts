import { isDeepStrictEqual } from 'node:util';
import { type CliPublisher, cliPublisher } from '../support/cli-publisher';
import { type EventStream, openEvents, type Told } from '../support/event-stream';
import { kafkaWorld } from '../support/kafka-world';
import { until } from '../support/until';

const kafka = kafkaWorld();
const { api, start, done }: CliPublisher = cliPublisher(() => ({
  ...kafka.env(),
  KAFKA_SESSION_TIMEOUT: '5s',
}));

async function instance(): Promise<EventStream & { kill(): void }> {
  const process = start(['run', '--poll-interval', '5s', '--http-port', '0']);
  const [, url] = await process.sees(/Dashboard at (http:\S+)/, 'stderr');
  const stream = await openEvents(url!);
  return { ...stream, kill: () => process.signal('SIGKILL') };
}

const feed = ({ feeds }: Told, name: string) => feeds.find((one) => one.feed === name);
const isShared = ({ feeds }: Told) =>
  feeds.length === 2 &&
  feeds.filter(({ isOwn }) => isOwn).length === 1 &&
  feeds.every(({ owner }) => owner !== null);

const isSettled = (told: Told) =>
  feed(told, 'ipos')?.records === 60 &&
  feed(told, 'analysts')?.records === 20 &&
  told.feeds.every(
    ({ isOwn, condition, dead_letters: letters }) =>
      letters === 0 && condition === (isOwn ? 'up-to-date' : 'standby'),
  );

it('each instance shows what the other has as its own: figures, owner, changes of polls and of commands', async () => {
  const first = await instance();
  await first.sees(
    ({ feeds }) => feeds.length === 2 && feeds.every((one) => one.isOwn && one.high_water_mark !== null),
    60_000,
  );
  const second = await instance();
  const both = [first, second];
  await Promise.all(both.map(({ sees }) => sees(isShared)));
  await Promise.all(both.map(({ sees }) => sees(isSettled)));
  // One instance's view of the other is refreshed now and then.
  const owners = () => both.map(({ told }) => told.feeds.map(({ owner }) => owner));
  await until(() => new Set(owners()[0]).size === 2 && isDeepStrictEqual(owners()[0], owners()[1]));
  await Promise.all(both.map(({ sees }) => sees(isSettled)));
  for (const { told } of both) {
    expect(told.publisher).toMatchObject({ logKind: 'kafka' });
    for (const { problem } of told.feeds) expect(problem).toBeNull();
    // The latest changes of both feeds, although this instance publishes only one of them.
    expect(new Set(told.changes.map((one) => one.feed))).toEqual(new Set(['ipos', 'analysts']));
  }

  const [ipo] = api().truth('ipos').values() as unknown as Iterable<{ id: string; updated: number }>;
  const { updated: _, ...rest } = ipo!;
  api().stores.ipos.upsert({ ...rest, deal_status: 'Withdrawn', name: 'Moved' } as never);
  const isMoved = ({ changes }: Told) => changes.some(({ title, op }) => title === 'Moved' && op === 'u');
  await Promise.all(both.map(({ sees }) => sees(isMoved)));
  const before = Math.max(...both.flatMap(({ told }) => told.feeds.map((one) => one.last_complete_scan_ms!)));
  const isFollowed = ({ feeds }: Told) => feeds.every((one) => one.last_complete_scan_ms! > before);
  await Promise.all(both.map(({ sees }) => sees(isFollowed)));
  for (const { told } of both) {
    const moved = told.changes.find(({ title }) => title === 'Moved')!;
    expect(moved.transitions).toMatchObject([{ type: 'DealStatusChanged', after: 'Withdrawn' }]);
    const counts = feed(told, 'ipos')!.changesPerMinute;
    expect(counts.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(0);
  }

  const gone = [...api().truth('ipos').keys()][5]!;
  expect(api().stores.ipos.remove(gone)).toBe(true);
  expect((await done(['reconcile', 'ipos'])).code).toBe(0);
  await Promise.all(
    both.map(({ sees }) => sees(({ changes }) => changes.some(({ key, op }) => key === gone && op === 'd'))),
  );

  first.kill();
  await second.sees(
    ({ feeds }) => feeds.every(({ isOwn, condition }) => isOwn && condition === 'up-to-date'),
    60_000,
  );
  second.close();
});
