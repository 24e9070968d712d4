import { ipos } from '../../src/feeds/ipos';
import type { FeedSession } from '../../src/log/commit-log';
import { partitionOf } from '../../src/log/partitioner';
import { feedTopics } from '../../src/log/topics';
import { startMember } from '../support/group-members';
import { kafkaWorld } from '../support/kafka-world';
import { batch, deadline, record } from '../support/log-records';
import { until } from '../support/until';

const KEYS = 30;
const kafka = kafkaWorld();

it('a change topic is given more partitions under a publisher and a consumer group: nothing is lost, and a key moves with the next owner only', async () => {
  const prefix = kafka.prefix();
  const topics = feedTopics(ipos, prefix);
  const topic = topics.changes.name;
  let page = 0;
  async function write(session: FeedSession): Promise<void> {
    page++;
    const rows = Array.from({ length: KEYS }, (_, i) => record(topic, `${i}`, `${page}`));
    await session.commit(batch(session, topics, rows, page));
  }

  const first = await kafka.log().acquire(topics, deadline());
  await write(first);
  const group = { groupId: `${prefix}desk`, topics: [topic], sessionTimeoutMs: 30_000 };
  const members = ['a', 'b'].map(() => startMember(kafka.consumerLog(), group));
  const handled = () => members.flatMap((one) => one.handled);
  const held = () => members.reduce((sum, one) => sum + one.held.size, 0);
  await until(() => handled().length === KEYS);

  await (await kafka.admin()).createPartitions({ topicPartitions: [{ topic, count: 7 }] });
  await write(first);
  await until(() => held() === 7);
  await write(first);
  const next = await kafka.log().acquire(topics, deadline());
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
