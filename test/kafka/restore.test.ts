import type { Producer } from 'kafkajs';
import { ipos } from '../../src/feeds/ipos';
import type { FeedSession, LogRecord, ProducerRecord } from '../../src/log/commit-log';
import type { LogLimits } from '../../src/log/kafka/ownership/session';
import { feedTopics } from '../../src/log/topics';
import { startKafka } from '../../tools/servers/kafka';
import { kafkaWorld } from '../support/kafka-world';
import { batch, collect, deadline, record, restored } from '../support/log-records';
import { vendorSamples } from '../support/records';
import { until } from '../support/until';

const kafka = kafkaWorld();
const producers: Producer[] = [];

const topics = () => feedTopics(ipos, kafka.prefix());
const current = () => topics().current.name;

afterEach(async () => {
  for (const producer of producers.splice(0)) await producer.disconnect();
});

const acquire = (
  limits: Partial<LogLimits> = {},
  at: Pick<typeof kafka, 'log'> = kafka,
): Promise<FeedSession> => at.log({ limits, topicPrefix: kafka.prefix() }).acquire(topics(), deadline());

/** Some other program's transaction. */
async function begin(transactionalId: string) {
  const producer = kafka.client().producer({ transactionalId, transactionTimeout: 60_000 });
  producers.push(producer);
  await producer.connect();
  return producer.transaction();
}

/** Some other program's transaction on the topics. */
async function foreignTransaction(records: readonly ProducerRecord[], id = 'foreign') {
  const transaction = await begin(`${kafka.prefix()}${id}`);
  for (const { topic, ...message } of records) {
    await transaction.send({ topic, messages: [{ ...message, timestamp: String(message.timestamp) }] });
  }
  return transaction;
}

const images = (count: number, value = 'x') =>
  Array.from({ length: count }, (_, i) => record(current(), `key ${i}`, `${value} ${i}`));

const ipoSample = vendorSamples('ipos')[0];
const idOf = (i: number) => i.toString(16).padStart(24, '0');

/** Some 1 kB, of which no two are the same. */
function imageOf(i: number): Buffer {
  const image = Buffer.alloc(900 + (i % 200), JSON.stringify(ipoSample));
  image.write(idOf(i), 0);
  image.write(idOf(i), image.length - 24);
  return image;
}

it('is empty for a feed that nobody has published yet', async () => {
  const session = await acquire();

  expect(await collect(session.restore(current(), deadline()))).toStrictEqual([]);
  expect(await collect(session.restore(topics().sourceOffset.name, deadline()))).toStrictEqual([]);
});

it('ends where the fence is, whatever others write behind it', async () => {
  const session = await acquire();
  await session.commit(batch(session, topics(), images(20)));
  const late = await foreignTransaction([record(current(), 'late', 'foreign')]);
  await late.commit();

  expect(Object.keys(await restored(session, current())).sort()).toEqual(
    images(20)
      .map(({ key }) => key)
      .sort(),
  );
});

it('does not see what the owner before left open, and does not wait for it', async () => {
  const first = await acquire();
  await first.commit(batch(first, topics(), images(5, 'committed')));
  // As the owner before would: under the feed's transactional id.
  const open = await begin(`test:${kafka.prefix()}ipos`);
  await open.send({
    topic: current(),
    messages: images(5, 'open').map(({ key, value }) => ({ key, value })),
  });

  const second = await acquire();

  expect(
    Object.values(await restored(second, current())).every((value) => value.startsWith('committed')),
  ).toBe(true);
});

it('leaves out what was aborted, also where several transactions of several producers lie in one another', async () => {
  const session = await acquire();
  await session.commit(batch(session, topics(), images(3, 'old')));
  // A key of four zero bytes is what kafkajs's own filter takes for the end of an aborted transaction.
  const aborted = [record(current(), '\0\0\0\0', 'aborted'), ...images(3, 'aborted')];
  const one = await foreignTransaction(aborted, 'one');
  const two = await foreignTransaction(aborted, 'two');
  await one.abort();
  await two.abort();

  const again = await acquire();

  expect(await restored(again, current())).toEqual({ 'key 0': 'old 0', 'key 1': 'old 1', 'key 2': 'old 2' });
});

it('waits for a foreign transaction that is open, and comes through when it ends', async () => {
  const first = await acquire();
  await first.commit(batch(first, topics(), images(3)));
  const open = await foreignTransaction([record(current(), 'key 0', 'foreign')]);
  const session = await acquire();
  const seen: LogRecord[] = [];
  const restoring = (async () => {
    for await (const each of session.restore(current(), deadline())) seen.push(each);
  })();
  await until(() => seen.length > 0);
  await open.abort();
  await restoring;

  expect(Object.fromEntries(seen.map(({ key, value }) => [key, value?.toString()]))).toMatchObject({
    'key 0': 'x 0',
    'key 1': 'x 1',
    'key 2': 'x 2',
  });
});

it('gives up on a foreign transaction that stays open, naming the partition', async () => {
  await acquire();
  await foreignTransaction([record(current(), 'key 0', 'foreign')]);
  const session = await acquire({ stallMs: 1_500 });

  await expect(restored(session, current())).rejects.toMatchObject({
    code: 'LOG_RESTORE_STALLED',
    message: expect.stringContaining(`${current()}/`),
  });
});

it('reads back many images of a real size, and among them the latest of those that moved', async () => {
  const count = 100_000;
  const first = await acquire();
  let commits = 0;
  const write = (records: ProducerRecord[]) => first.commit(batch(first, topics(), records, ++commits));
  const pageRecords = 5_000;
  for (let from = 0; from < count; from += pageRecords) {
    await write(
      Array.from({ length: pageRecords }, (_, i) => record(current(), idOf(from + i), imageOf(from + i))),
    );
  }
  await write([record(current(), idOf(7), imageOf(count + 7)), record(current(), idOf(8), null)]);
  await first.release();

  const second = await acquire();
  const images = new Map<string, Buffer>();
  const perPartition = [0, 0, 0];
  for await (const { key, value, partition } of second.restore(current(), AbortSignal.timeout(60_000))) {
    if (value === null) images.delete(key);
    else images.set(key, Buffer.from(value));
    perPartition[partition]!++;
  }

  expect(images.size).toBe(count - 1);
  expect(perPartition.reduce((sum, each) => sum + each)).toBe(count + 2);
  expect(perPartition.every((each) => each > count / 4)).toBe(true);
  expect(images.has(idOf(8))).toBe(false);
  expect(images.get(idOf(7))!.equals(imageOf(count + 7))).toBe(true);
  for (let i = 0; i < count; i += 997) expect(images.get(idOf(i))!.equals(imageOf(i))).toBe(true);
});

const SEGMENT_MS = 200;

// The cleaner of a broker with many topics comes by late, or not any more.
describe('on a broker that has nothing else to do', () => {
  const own = kafkaWorld(startKafka);

  it('gets through a topic that compaction has emptied of all but its latest records', async () => {
    await acquire({}, own);
    await (await own.admin()).alterConfigs({
      validateOnly: false,
      resources: [
        {
          type: 2,
          name: current(),
          configEntries: Object.entries({
            'cleanup.policy': 'compact',
            'segment.ms': String(SEGMENT_MS),
            'min.cleanable.dirty.ratio': '0.001',
            'delete.retention.ms': '0',
            'min.compaction.lag.ms': '0',
          }).map(([name, value]) => ({ name, value })),
        },
      ],
    });
    const first = await acquire({}, own);
    let commits = 0;
    const write = (records: ProducerRecord[]) => first.commit(batch(first, topics(), records, ++commits));
    for (let i = 0; i < 30; i++) await write(images(10, `version ${i}`));
    // Records of a much later time close the segments, because an open segment is never compacted.
    const closesAt = Date.now() + 2 * SEGMENT_MS;
    await until(() => Date.now() > closesAt);
    await write(images(10).map(({ topic, key }) => record(topic, key, null)));
    await write(images(4, 'last'));
    // The rest of the log shows it: compaction removed whole transactions and left batches without a record.
    await until(async () => {
      await write([record(current(), 'key 0', 'rolls the segment')]);
      const left = await collect(first.restore(current(), deadline()));
      // Without what this loop writes: on a broker with many topics that comes faster than its cleaner comes by.
      return left.filter(({ value }) => String(value) !== 'rolls the segment').length < 60;
    });

    const second = await acquire({}, own);

    expect(await restored(second, current())).toEqual({
      'key 0': 'rolls the segment',
      'key 1': 'last 1',
      'key 2': 'last 2',
      'key 3': 'last 3',
    });
  });
});
