import { createHash, randomBytes } from 'node:crypto';
import type { Admin } from 'kafkajs';
import { connect } from '../../src/consumer';
import type { GroupConsumeOptions } from '../../src/consumer/options';
import { HighwaterError } from '../../src/errors';
import type { LogRecord } from '../../src/log/commit-log';
import { kafkaWorld } from '../support/kafka-world';
import { quietLogger } from '../support/source';
import { until } from '../support/until';
import { consumeValues, openConsumerLog, type ValueConsumer } from '../support/value-consumer';

/** Positions of groups that are no longer in the topic, or that the brokers no longer know, and dead letters that brokers refuse. */

const kafka = kafkaWorld();
let admin: Admin;
let group: string;
let topic: string;

beforeEach(async () => {
  admin = await kafka.admin();
  [group, topic] = [`${kafka.prefix()}desk`, `${kafka.prefix()}events`];
  await kafka.create({ topic, numPartitions: 1 });
});

const running: { stop(): Promise<void> }[] = [];
afterEach(() => Promise.all(running.splice(0).map((one) => one.stop())));

function consume(rest: Partial<GroupConsumeOptions> = {}): ValueConsumer {
  const one = consumeValues(kafka.brokers(), { group, topics: [topic], ...rest });
  running.push(one);
  return one;
}

const send = (...values: string[]) =>
  kafka.send(
    topic,
    values.map((value) => ({ value })),
  );

/** A record that no reader is shown, and its marker. */
async function abortOne(): Promise<void> {
  const producer = kafka.client().producer({
    transactionalId: `${topic}-aborting`,
    maxInFlightRequests: 1,
    idempotent: true,
  });
  await producer.connect();
  const transaction = await producer.transaction();
  await transaction.send({ topic, messages: [{ value: 'aborted' }] });
  await transaction.abort();
  await producer.disconnect();
}

async function end(): Promise<string> {
  return (await admin.fetchTopicOffsets(topic))[0]!.high;
}

/** As retention does in the course of time. */
async function removeAll(): Promise<void> {
  await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: await end() }] });
}

async function place(): Promise<string | undefined> {
  const found = await admin.fetchOffsets({ groupId: group, topics: [topic] }).catch(() => []);
  return found[0]?.partitions[0]?.offset;
}

describe('a group that has read everything', () => {
  it('moves on with markers that readers are not shown, so retention takes nothing from it', async () => {
    await send('a', 'b');
    const first = consume({ from: 'beginning' });
    await until(() => first.seen.length === 2);
    await until(async () => (await place()) === '2');
    await abortOne();
    // Two records, one that was aborted, and its marker.
    const settled = '4';
    await until(async () => (await end()) === settled);
    await until(async () => (await place()) === settled);
    await first.stop();
    await removeAll();
    const second = consume();
    await until(
      async () => second.failure() !== null || second.warnings.length > 0 || (await place()) === settled,
    );
    await send('c');
    await until(() => second.seen.length > 0 || second.failure() !== null);
    expect([second.failure(), second.seen, second.warnings]).toEqual([null, ['c'], []]);
  });
});

describe('a group whose position was removed while it was away', () => {
  beforeEach(async () => {
    await send('a', 'b');
    const first = consume({ from: 'beginning' });
    await until(async () => (await place()) === '2');
    await first.stop();
    await send('lost');
    await removeAll();
    await send('kept');
  });

  it('ends by name', async () => {
    const one = consume();
    await one.ended;
    expect(one.failure()).toMatchObject({
      code: 'LOG_POSITION_LOST',
      message: `offset 2 of partition 0 of ${topic} was to be read next, and it holds 3 to 4`,
    });
    expect(one.seen).toEqual([]);
  });

  it('goes on with what is kept if it is told to, and says what it does not read', async () => {
    const one = consume({ onLost: 'continue' });
    await until(() => one.seen.length > 0 || one.failure() !== null);
    expect([one.failure(), one.seen]).toEqual([null, ['kept']]);
    expect(one.warnings).toEqual([
      `Events of ${topic}, partition 0, were removed before they were read: offsets 2 to 2. Reading goes on with the first event that is kept.`,
    ]);
    await until(async () => (await place()) === '4');
  });
});

it('a group that begins at the beginning begins wherever that is by the time its database has answered', async () => {
  await send('old');
  const load = async () => {
    await removeAll();
    await send('new');
    return null;
  };
  const one = consume({ from: 'beginning', positions: { load } });
  await until(() => one.seen.length > 0 || one.failure() !== null);
  expect([one.failure(), one.seen, one.warnings]).toEqual([null, ['new'], []]);
});

describe('a group without a position in a topic that holds events', () => {
  it('begins at the end, and says that it skips them', async () => {
    await send('before');
    const one = consume();
    await until(async () => (await place()) === '1');
    expect(one.warnings).toEqual([expect.stringContaining(`The group ${group} has no position in ${topic}`)]);
    await one.stop();
    const again = consume({ from: 'stored-or-fail' });
    await send('after');
    await until(() => again.seen.length > 0 || again.failure() !== null);
    expect([again.failure(), again.seen, again.warnings]).toEqual([null, ['after'], []]);
  });

  it('ends by name if it is to begin only where it stopped', async () => {
    await send('before');
    const one = consume({ from: 'stored-or-fail' });
    await one.ended;
    expect(one.failure()).toBeInstanceOf(HighwaterError);
    expect(one.failure()).toMatchObject({ code: 'LOG_POSITION_LOST' });
    expect(one.failure()!.message).toContain(`no position in partition 0 of ${topic}`);
  });

  it('begins silently in an empty topic', async () => {
    const one = consume();
    await until(async () => (await place()) === '0');
    expect(one.warnings).toEqual([]);
  });
});

describe('dead letters', () => {
  /** All that the topic of the dead letters holds. */
  async function letters(count: number) {
    const log = openConsumerLog(kafka.brokers());
    const found: LogRecord[] = [];
    await until(async () => {
      found.length = 0;
      for await (const record of log.load(`${group}.dead-letters`, new AbortController().signal))
        found.push(record);
      return found.length >= count;
    });
    await log.close();
    return found;
  }

  /** A consumer that keeps each event as a dead letter. */
  function refuseAll() {
    const log = connect({
      kafka: { brokers: kafka.brokers().split(',') },
      schemaRegistry: { url: 'http://localhost:1' },
      logger: quietLogger(),
    });
    const stop = new AbortController();
    const ended = log.consume(
      {
        group,
        topics: [topic],
        from: 'beginning',
        onFailure: 'dead-letter',
        retry: { attempts: 1 },
        signal: stop.signal,
      },
      () => undefined,
    );
    running.push({
      async stop() {
        stop.abort();
        await ended.catch(() => undefined);
        await log.close();
      },
    });
    return ended;
  }

  it('that are too large for their topic are kept without the value of the event', async () => {
    const value = randomBytes(60_000);
    const configEntries = [{ name: 'max.message.bytes', value: '20000' }];
    await kafka.create({ topic: `${group}.dead-letters`, numPartitions: 1, configEntries });
    await send(value.toString('base64'), 'small');
    refuseAll();
    const [large, small] = await letters(2);
    expect(large).toMatchObject({
      value: null,
      headers: { 'error.offset': '0', 'error.value-bytes': '80000' },
    });
    expect(large!.headers['error.value-sha256']).toBe(
      createHash('sha256').update(value.toString('base64')).digest('hex'),
    );
    expect(String(small!.value)).toBe('small');
  });

  it('are compressed, so an event that repeats itself fits', async () => {
    const configEntries = [{ name: 'max.message.bytes', value: '20000' }];
    await kafka.create({ topic: `${group}.dead-letters`, numPartitions: 1, configEntries });
    await send('a'.repeat(60_000));
    refuseAll();
    const [letter] = await letters(1);
    expect(letter!.value).toHaveLength(60_000);
  });
});

it.each(['follow', 'group'] as const)('reading as a %s says by name that no broker answers', async (how) => {
  const logger = quietLogger();
  const log = openConsumerLog('127.0.0.1:1', logger);
  const stop = new AbortController();
  const reading = async () => {
    if (how === 'follow') for await (const _ of log.follow(topic, new Map(), stop.signal));
  };
  const ended = reading();
  if (how === 'group')
    log.joinGroup({ groupId: group, topics: [topic], sessionTimeoutMs: 6_000, work: async () => undefined });
  await until(() => logger.warnings.length > 0);
  expect(logger.warnings).toEqual([
    how === 'follow'
      ? `Reading the topic ${topic} has not succeeded for 10 s. It is tried again.`
      : `The group ${group} cannot be reached; it is asked again.`,
  ]);
  stop.abort();
  await ended;
  await log.close();
});
