import { ipos } from '../../src/feeds/ipos';
import type { CommitLog } from '../../src/log/commit-log';
import { openKafkaLog } from '../../src/log/kafka/kafka-log';
import { feedTopics } from '../../src/log/topics';
import { batch, deadline, readAll, record } from '../support/log-records';
import { sharedServers, uniquePrefix } from '../support/servers';
import { quietLogger } from '../support/source';

const prefix = uniquePrefix();
const topics = feedTopics(ipos, prefix);
const changes = topics.changes.name;
const logs: CommitLog[] = [];

afterEach(async () => {
  for (const log of logs.splice(0)) await log.close();
});

async function open(appId: string): Promise<CommitLog> {
  const brokers = (await sharedServers()).brokers.split(',');
  const kafka = { brokers, ssl: null, sasl: null, compression: 'none' as const };
  const log = openKafkaLog({ kafka, appId, topicPrefix: prefix, logger: quietLogger() });
  logs.push(log);
  return log;
}

// The brokers fence by transactional id, and these two have different ones.
it('of two publishers with different app ids on the same topics, each learns of the other before it commits over it', async () => {
  const [first, second] = [await open('renamed'), await open('original')];
  const mine = (number: number) => [record(changes, 'a', `${number}`)];
  const a = await first.acquire(topics, deadline());
  await a.commit(batch(a, topics, mine(1), 1));
  const b = await second.acquire(topics, deadline());
  await b.commit(batch(b, topics, mine(2), 2));

  const noticed = { code: 'LOG_FENCED', remedy: expect.stringContaining('HIGHWATER_APP_ID') };
  await expect(a.commit(batch(a, topics, mine(2), 2))).rejects.toMatchObject(noticed);
  await expect(b.commit(batch(b, topics, mine(3), 3))).rejects.toMatchObject(noticed);
  const again = await second.acquire(topics, deadline());
  await again.commit(batch(again, topics, mine(3), 3));

  const values = (await readAll(second, [changes])).map(({ value }) => String(value));
  expect(values).toEqual(['1', '2', '3']);
}, 60_000);
