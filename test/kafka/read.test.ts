import { Kafka, logLevel } from 'kafkajs';
import { ipos } from '../../src/feeds/ipos';
import type { CommitLog, LogRecord } from '../../src/log/commit-log';
import { openKafkaLog } from '../../src/log/kafka/kafka-log';
import { feedTopics } from '../../src/log/topics';
import { createTopics } from '../support/create-topics';
import { batch, collect, deadline, readAll, record } from '../support/log-records';
import { sharedServers, uniquePrefix } from '../support/servers';
import { quietLogger } from '../support/source';
import { until } from '../support/until';

const prefix = uniquePrefix();
const topics = feedTopics(ipos, prefix);
const changes = topics.changes.name;
let kafka: Kafka;
let log: CommitLog;
const warnings: string[] = [];

beforeAll(async () => {
  const brokers = (await sharedServers()).brokers.split(',');
  kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING });
  log = openKafkaLog({
    kafka: { brokers, ssl: null, sasl: null, compression: 'none' },
    appId: 'test',
    topicPrefix: prefix,
    logger: { ...quietLogger(), warn: (message) => warnings.push(message) },
  });
});
afterAll(() => log?.close());

it('reads to the end of what is committed, past no transaction that is open, and waits for none without end', async () => {
  const session = await log.acquire(topics, deadline());
  await session.commit(batch(session, topics, [record(changes, 'a', 'before')]));
  const producer = kafka.producer({ transactionalId: `${prefix}foreign`, transactionTimeout: 60_000 });
  try {
    await producer.connect();
    const transaction = await producer.transaction();
    for (const partition of [0, 1, 2])
      await transaction.send({ topic: changes, messages: [{ key: 'b', value: 'foreign', partition }] });
    await session.commit(batch(session, topics, [record(changes, 'a', 'behind')], 2));

    const whileOpen = await readAll(log, [changes]);
    // It begins before the transaction ends, so it sees the records from before.
    const reading = log.read([changes], { fromBeginning: true, follow: false, signal: deadline() });
    const records = reading[Symbol.asyncIterator]();
    const first = await records.next();
    await transaction.commit();
    const rest = await collect({ [Symbol.asyncIterator]: () => records });

    expect(texts(whileOpen)).toEqual(['before']);
    expect(first.value?.value).toEqual(Buffer.from('before'));
    expect(texts(rest)).toEqual(['behind', 'foreign', 'foreign', 'foreign']);
  } finally {
    await producer.disconnect();
  }
});

it('goes on with the other topics while one is deleted, and reads that from its beginning once it is made anew', async () => {
  const [gone, kept] = [`${prefix}gone`, `${prefix}kept`];
  const admin = kafka.admin();
  const ended = new AbortController();
  const seen: string[] = [];
  // A producer each time, since kafkajs's stands still, too, when a topic is deleted.
  const send = async (topic: string, ...values: string[]) => {
    const producer = kafka.producer({ allowAutoTopicCreation: false });
    await producer.connect();
    await producer.send({ topic, messages: values.map((value) => ({ key: 'k', value, partition: 0 })) });
    await producer.disconnect();
  };
  await admin.connect();
  try {
    await createTopics(admin, [{ topic: gone }, { topic: kept }]);
    await send(gone, 'old');
    const options = { fromBeginning: true, follow: true, signal: ended.signal };
    const reading = (async () => {
      for await (const { value } of log.read([gone, kept], options)) seen.push(String(value));
    })();
    await until(() => seen.includes('old'));
    await admin.deleteTopics({ topics: [gone] });
    await until(async () => !(await admin.listTopics()).includes(gone));
    await send(kept, 'other');
    await until(() => seen.includes('other'));
    await until(() => warnings.length === 1);
    expect(warnings[0]).toContain(gone);
    await createTopics(admin, [{ topic: gone }]);
    await send(gone, 'new 1', 'new 2', 'new 3');
    await until(() => seen.includes('new 3'));
    expect(seen).toEqual(['old', 'other', 'new 1', 'new 2', 'new 3']);
    ended.abort();
    await reading;
  } finally {
    ended.abort();
    await admin.disconnect();
  }
});

function texts(records: readonly LogRecord[]): string[] {
  return records.map(({ value }) => String(value)).sort();
}
