import { Kafka, logLevel } from 'kafkajs';
import { ipos } from '../../src/feeds/ipos';
import type { CommitLog, FeedSession } from '../../src/log/commit-log';
import { openKafkaConsumerLog } from '../../src/log/kafka/consumer-log';
import { openKafkaLog } from '../../src/log/kafka/kafka-log';
import { partitionOf } from '../../src/log/partitioner';
import { feedTopics } from '../../src/log/topics';
import { startMember } from '../support/group-members';
import { batch, deadline, record } from '../support/log-records';
import { sharedServers, uniquePrefix } from '../support/servers';
import { quietLogger } from '../support/source';
import { until } from '../support/until';

const KEYS = 30;
const open: { close(): Promise<void> }[] = [];
let brokers: string;

beforeAll(async () => {
  ({ brokers } = await sharedServers());
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

it('a change topic is given more partitions under a publisher and a consumer group: nothing is lost, and a key moves with the next owner only', async () => {
  const prefix = uniquePrefix();
  const topics = feedTopics(ipos, prefix);
  const topic = topics.changes.name;
  const kafka = { brokers: brokers.split(','), ssl: null, sasl: null, compression: 'none' } as const;
  const options = { kafka, appId: 'test', topicPrefix: prefix, logger: quietLogger() };
  const publisher = (): CommitLog => {
    const log = openKafkaLog(options);
    open.push(log);
    return log;
  };
  let page = 0;
  async function write(session: FeedSession): Promise<void> {
    page++;
    const rows = Array.from({ length: KEYS }, (_, i) => record(topic, `${i}`, `${page}`));
    await session.commit(batch(session, topics, rows, page));
  }

  const first = await publisher().acquire(topics, deadline());
  await write(first);
  const members = ['a', 'b'].map(() => {
    const log = openKafkaConsumerLog(options);
    open.push(log);
    return startMember(log, { groupId: `${prefix}desk`, topics: [topic], sessionTimeoutMs: 30_000 });
  });
  const handled = () => members.flatMap((one) => one.handled);
  const held = () => members.reduce((sum, one) => sum + one.held.size, 0);
  await until(() => handled().length === KEYS);

  const admin = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  await admin.createPartitions({ topicPartitions: [{ topic, count: 7 }] }).finally(() => admin.disconnect());
  await write(first);
  await until(() => held() === 7);
  await write(first);
  const next = await publisher().acquire(topics, deadline());
  await write(next);
  await write(next);
  const said = () => new Set(handled().map(({ key, value }) => `${key} ${value}`));
  await until(() => said().size === 5 * KEYS);

  expect(members.flatMap(({ failures }) => failures)).toStrictEqual([]);
  const elsewhere = (pages: readonly number[], partitions: number) =>
    handled().filter(
      ({ key, value, partition }) =>
        pages.includes(Number(value)) && partition !== partitionOf(key, partitions),
    );
  expect(elsewhere([1, 2, 3], 3)).toStrictEqual([]);
  expect(elsewhere([4, 5], 7)).toStrictEqual([]);
});
