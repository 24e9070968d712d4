import { Kafka, logLevel } from 'kafkajs';
import { ipos } from '../../src/feeds/ipos';
import type { CommitLog, LogRecord } from '../../src/log/commit-log';
import { openKafkaLog } from '../../src/log/kafka/kafka-log';
import { feedTopics } from '../../src/log/topics';
import { batch, collect, deadline, readAll, record } from '../support/log-records';
import { sharedServers, uniquePrefix } from '../support/servers';
import { quietLogger } from '../support/source';

const prefix = uniquePrefix();
const topics = feedTopics(ipos, prefix);
const changes = topics.changes.name;
let kafka: Kafka;
let log: CommitLog;

beforeAll(async () => {
  const brokers = (await sharedServers()).brokers.split(',');
  kafka = new Kafka({ brokers, logLevel: logLevel.NOTHING });
  log = openKafkaLog({
    kafka: { brokers, ssl: null, sasl: null, compression: 'none' },
    appId: 'test',
    topicPrefix: prefix,
    logger: quietLogger(),
  });
}, 120_000);
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
    // Begun before the transaction ends, it sees what was there when it began.
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

function texts(records: readonly LogRecord[]): string[] {
  return records.map(({ value }) => String(value)).sort();
}
