import { ipos } from '../../src/feeds/ipos';
import type { CommitLog } from '../../src/log/commit-log';
import { feedTopics } from '../../src/log/topics';
import { commandLine } from '../support/cli';
import { kafkaWorld } from '../support/kafka-world';
import { batch, deadline, record } from '../support/log-records';
import { startProxiedKafka } from '../support/proxied-kafka';
import { quietLogger } from '../support/source';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

/** The only broker goes silent while it is used: its connections stay open. */
const kafka = kafkaWorld(startProxiedKafka, { registry: true });
const cli = commandLine();
const folder = tempFolder();

const topics = () => feedTopics(ipos, kafka.prefix());
const proxy = () => kafka.server().proxy;
afterEach(() => proxy().thaw());

it.each<[string, string, (log: CommitLog) => Promise<() => Promise<unknown>>]>([
  [
    'a page is not written',
    'Writing a page of feed ipos',
    async (log) => {
      const session = await log.acquire(topics(), deadline());
      const { name } = topics().changes;
      const commit = (value: string) => session.commit(batch(session, topics(), [record(name, '1', value)]));
      await commit('x');
      return () => commit('y');
    },
  ],
  [
    'a feed is not taken over',
    'Taking over feed ipos',
    async (log) => {
      const acquire = () => log.acquire(topics(), deadline());
      await (await acquire()).release();
      return acquire;
    },
  ],
])('a publisher says that %s yet, and when it is', async (_, what, begin) => {
  const said: string[] = [];
  const say = (message: string) => void said.push(message);
  const logger = { ...quietLogger(), warn: say, info: say };
  const work = await begin(kafka.log({ brokers: kafka.server().brokers, logger }));
  expect(said).toEqual([]);

  proxy().freeze();
  const working = work();
  await until(() => said.length > 0);
  proxy().thaw();
  await working;
  expect(said).toEqual([`${what} has not succeeded for 10 s. It is tried again.`, `${what} succeeds again.`]);
});

it('a publisher says why a page is not written yet', async () => {
  const whys: unknown[] = [];
  const logger = { ...quietLogger(), warn: (_: string, facts?: object) => void whys.push(facts) };
  const log = kafka.log({ brokers: kafka.server().brokers, logger });
  const session = await log.acquire(topics(), deadline());
  const cut = proxy().cut({ api: 'Produce', where: 'request', every: 1 });
  const committing = session.commit(batch(session, topics(), [record(topics().changes.name, '1', 'x')]));
  await until(() => whys.length > 0);
  cut.remove();
  await committing;
  expect(whys).toEqual([
    {
      why: expect.stringMatching(/^writing a page of feed ipos: .* closed the connection$/),
      remedy: expect.stringContaining('Nothing, if it passes.'),
    },
  ]);
});

it('`tail` says that the brokers no longer answer, and when they do', async () => {
  const log = kafka.log();
  const session = await log.acquire(topics(), deadline());
  // The records are no Avro: each is named on stderr.
  const tail = cli(['tail', 'ipos', '--from-beginning'], {
    cwd: folder(),
    env: { ...kafka.env(), KAFKA_BROKERS: kafka.server().brokers },
  });
  const put = (key: string) =>
    session.commit(batch(session, topics(), [record(topics().changes.name, key, 'x')]));
  await put('before');
  await tail.sees(/key before/, 'stderr');

  proxy().freeze();
  await tail.sees(/Reading the topic \S+ has not succeeded for 10 s/, 'stderr');
  proxy().thaw();
  await tail.sees(/Reading the topic \S+ succeeds again/, 'stderr');
  await put('after');
  await tail.sees(/key after/, 'stderr');
});
