import { Kafka, logLevel, type Producer, type Transaction } from 'kafkajs';
import { createTopics } from '../support/create-topics';
import { type ForeignReader, startForeignReader } from '../support/foreign-reader/foreign-reader';
import { type ProxiedKafka, startProxiedKafka } from '../support/proxied-kafka';
import { until } from '../support/until';

/** The proxy held to plain kafkajs, and to what Kafka's own consumer sees behind its back. */
let kafka: ProxiedKafka;
let reader: ForeignReader;
let client: Kafka;
const producers: Producer[] = [];

beforeAll(async () => {
  kafka = await startProxiedKafka();
  reader = await startForeignReader(kafka.direct);
  client = new Kafka({
    brokers: [kafka.brokers],
    logLevel: logLevel.NOTHING,
    requestTimeout: 1_000,
    retry: { retries: 2, initialRetryTime: 50 },
  });
});
afterEach(async () => {
  kafka.proxy.thaw();
  kafka.proxy.slow(0);
  await Promise.all(producers.splice(0).map((producer) => producer.disconnect()));
});
afterAll(async () => {
  await reader?.stop();
  await kafka?.stop();
});

async function topic(name: string): Promise<string> {
  const admin = client.admin();
  await admin.connect();
  await createTopics(admin, [{ topic: name, numPartitions: 2 }]);
  await admin.disconnect();
  return name;
}

/** A producer of one transactional id; connecting ends what an earlier one of that id left open. */
async function producer(transactionalId: string): Promise<Producer> {
  const made = client.producer({
    transactionalId,
    maxInFlightRequests: 1,
    idempotent: true,
    retry: { retries: 8, initialRetryTime: 20 },
  });
  producers.push(made);
  await made.connect();
  return made;
}

async function write(of: Producer, to: string, text: string): Promise<Transaction> {
  const transaction = await of.transaction();
  const messages = [0, 1].map((partition) => ({ partition, key: text, value: text }));
  await transaction.send({ topic: to, messages });
  return transaction;
}

async function committed(name: string): Promise<string[]> {
  return (await reader.read(name)).map(({ key, partition }) => `${key}/${partition}`);
}

describe('the proxy', () => {
  it('loses the answer to a commit that was carried out', async () => {
    const name = await topic('answer');
    const cut = kafka.proxy.cut({ api: 'EndTxn', where: 'answer' });
    const transaction = await write(await producer('answer'), name, 'a');
    await expect(transaction.commit()).rejects.toThrow('Closed connection');
    expect(cut.met()).toBe(1);
    await until(async () => (await committed(name)).length >= 2);
    await producer('answer');
    expect((await committed(name)).sort()).toEqual(['a/0', 'a/1']);
    cut.remove();
  });

  it('loses the request of a commit, which ends in an abort', async () => {
    const name = await topic('request');
    const cut = kafka.proxy.cut({ api: 'EndTxn', where: 'request' });
    const transaction = await write(await producer('request'), name, 'a');
    await expect(transaction.commit()).rejects.toThrow('Closed connection');
    expect(cut.met()).toBe(1);
    const next = await producer('request');
    await (await write(next, name, 'b')).commit();
    await until(async () => (await committed(name)).length >= 2);
    expect((await committed(name)).sort()).toEqual(['b/0', 'b/1']);
    cut.remove();
  });
});
