import { ipos } from '../../src/feeds/ipos';
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

it('a publisher says that a page is not written yet, and when it is', async () => {
  const said: string[] = [];
  const say = (message: string) => void said.push(message);
  const logger = { ...quietLogger(), warn: say, info: say };
  const log = kafka.log({ brokers: kafka.server().brokers, logger });
  const session = await log.acquire(topics(), deadline());
  const { name } = topics().changes;
  await session.commit(batch(session, topics(), [record(name, '1', 'x')]));
  expect(said).toEqual([]);

  proxy().freeze();
  const commit = session.commit(batch(session, topics(), [record(name, '1', 'y')]));
  await until(() => said.length > 0);
  proxy().thaw();
  await commit;
  expect(said).toEqual([
    'Writing a page of feed ipos has not succeeded for 10 s. It is tried again.',
    'Writing a page of feed ipos succeeds again.',
  ]);
});

it('a publisher says that it cannot take over a feed yet, and when it has', async () => {
  const said: string[] = [];
  const say = (message: string) => void said.push(message);
  const logger = { ...quietLogger(), warn: say, info: say };
  const log = kafka.log({ brokers: kafka.server().brokers, logger });
  await (await log.acquire(topics(), deadline())).release();
  expect(said).toEqual([]);

  proxy().freeze();
  const acquired = log.acquire(topics(), deadline());
  await until(() => said.length > 0);
  proxy().thaw();
  await acquired;
  expect(said).toEqual([
    'Taking over feed ipos has not succeeded for 10 s. It is tried again.',
    'Taking over feed ipos succeeds again.',
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
