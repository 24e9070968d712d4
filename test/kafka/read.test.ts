import { ipos } from '../../src/feeds/ipos';
import type { CommitLog, LogRecord } from '../../src/log/commit-log';
import { feedTopics } from '../../src/log/topics';
import { kafkaWorld } from '../support/kafka-world';
import { batch, collect, deadline, readAll, record } from '../support/log-records';
import { quietLogger } from '../support/source';
import { until } from '../support/until';

const kafka = kafkaWorld();
let log: CommitLog;
const { warnings, ...logger } = quietLogger();

beforeEach(() => {
  log = kafka.log({ logger });
});

it('reads to the end of what is committed, past no transaction that is open, and waits for none without end', async () => {
  const topics = feedTopics(ipos, kafka.prefix());
  const changes = topics.changes.name;
  const session = await log.acquire(topics, deadline());
  await session.commit(batch(session, topics, [record(changes, 'a', 'before')]));
  const producer = kafka
    .client()
    .producer({ transactionalId: `${kafka.prefix()}foreign`, transactionTimeout: 60_000 });
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
  const [gone, kept] = [`${kafka.prefix()}gone`, `${kafka.prefix()}kept`];
  const admin = await kafka.admin();
  const ended = new AbortController();
  const seen: string[] = [];
  const send = (topic: string, ...values: string[]) =>
    kafka.send(
      topic,
      values.map((value) => ({ key: 'k', value, partition: 0 })),
    );
  try {
    await kafka.create({ topic: gone }, { topic: kept });
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
    await kafka.create({ topic: gone });
    await send(gone, 'new 1', 'new 2', 'new 3');
    await until(() => seen.includes('new 3'));
    expect(seen).toEqual(['old', 'other', 'new 1', 'new 2', 'new 3']);
    ended.abort();
    await reading;
  } finally {
    ended.abort();
  }
});

function texts(records: readonly LogRecord[]): string[] {
  return records.map(({ value }) => String(value)).sort();
}
