import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin } from 'kafkajs';
import type { GroupConsumeOptions } from '../../src/consumer/options';
import { createTopics } from '../support/create-topics';
import { kafkaWorld } from '../support/kafka-world';
import { until } from '../support/until';
import { consumeValues, type ValueConsumer } from '../support/value-consumer';

/** A topic that is deleted and created again under its name has only new events, wherever a group was in the earlier topic. */

const kafka = kafkaWorld();
let admin: Admin;

const group = () => `${kafka.prefix()}desk`;
const topic = () => `${kafka.prefix()}events`;
const other = () => `${kafka.prefix()}other`;
const open = () => kafka.consumerLog({ topicPrefix: '' });

beforeEach(async () => {
  admin = await kafka.admin();
  await kafka.create({ topic: topic(), numPartitions: 1 }, { topic: other(), numPartitions: 1 });
});
const running: ValueConsumer[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((one) => one.stop()));
});

/** A consumer of both topics. */
function consume(
  rest: Partial<GroupConsumeOptions> = {},
  handle?: (value: string, logOffset: number, topicId: string | null) => unknown,
): ValueConsumer {
  const one = consumeValues(kafka.brokers(), { group: group(), topics: [topic(), other()], ...rest }, handle);
  running.push(one);
  return one;
}

const send = (name: string, values: readonly string[], partitions = 1) =>
  kafka.send(
    name,
    values.map((value, i) => ({ value, partition: i % partitions })),
  );

const values = (text: string, count: number) => Array.from({ length: count }, (_, i) => `${text} ${i}`);

/** Deletes the topic and creates it again as fast as the brokers allow, with records in it. */
async function recreate(records: readonly string[], numPartitions = 1): Promise<void> {
  await admin.deleteTopics({ topics: [topic()] });
  await until(async () => {
    try {
      return await admin.createTopics({
        topics: [{ topic: topic(), numPartitions }],
        waitForLeaders: false,
      });
    } catch {
      return false;
    }
  });
  // A broker may hear later than the controller that the earlier topic is gone, and would append these records to that one.
  await until(() => isEmpty(topic()));
  await send(topic(), records, numPartitions);
}

async function isEmpty(name: string): Promise<boolean> {
  try {
    return (await admin.fetchTopicOffsets(name)).every(({ high }) => high === '0');
  } catch {
    // Its partitions have no leader yet.
    return false;
  }
}

/** Offsets that the group has committed, by topic; none while its coordinator is looked for. */
async function places(groupId = group()): Promise<Record<string, string>> {
  const found = await admin.fetchOffsets({ groupId, topics: [topic(), other()] }).catch(() => []);
  return Object.fromEntries(found.map(({ topic: name, partitions }) => [name, partitions[0]!.offset]));
}

/** The group has begun in both topics. */
async function isSettled(): Promise<boolean> {
  const found = Object.values(await places());
  return found.length === 2 && !found.includes('-1');
}

/** Holds up the handler at a value until it is told to go on. */
function holdingAt(held: string) {
  let goOn = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  return { goOn, handle: (value: string) => (value === held ? released : null) };
}

describe.each(['beginning', 'end'] as const)('a group that began at the %s', (from) => {
  it.each([
    ['longer', 30],
    ['shorter', 3],
  ])(
    'reads a topic that was recreated %s from its first record, and the other topics go on',
    async (_, count) => {
      await send(topic(), values('before', 5));
      const one = consume({ from });
      const before = from === 'end' ? [] : values('before', 5);
      await until(isSettled);
      await send(topic(), values('old', 10));
      await until(() => one.seen.length === before.length + 10);
      await recreate(values('new', count));
      await send(other(), values('other', 5));
      await until(() => one.seen.length >= before.length + 10 + 5 + count || one.failure() !== null);
      expect(one.failure()).toBeNull();
      expect([...one.seen].sort()).toEqual(
        [...before, ...values('old', 10), ...values('other', 5), ...values('new', count)].sort(),
      );
      const place = async () => ({
        at: (await places())[topic()],
        failure: one.failure(),
        warned: one.warnings,
      });
      // A timeout is no error here: the next line shows where the group stands instead.
      await until(async () => (await place()).at === String(count)).catch(() => undefined);
      expect(await place()).toMatchObject({ at: String(count), failure: null });
      await one.stop();
    },
  );

  it('reads a longer topic from its first record even if its handler was busy meanwhile', async () => {
    const { goOn, handle } = holdingAt('old 9');
    const one = consume({ from }, handle);
    await until(isSettled);
    await send(topic(), values('old', 10));
    await until(() => one.seen.length === 10);
    await recreate(values('new', 30));
    // The commit of the event in hand reaches the brokers after the topic was recreated.
    goOn();
    await until(() => one.seen.length >= 40 || one.failure() !== null);
    expect(one.failure()).toBeNull();
    expect(one.seen).toEqual([...values('old', 10), ...values('new', 30)]);
    await one.stop();
  });

  it('that ended in an earlier topic of the name reads the next topic from its first record', async () => {
    const { goOn, handle } = holdingAt('old 9');
    const one = consume({ from }, handle);
    await until(isSettled);
    await send(topic(), values('old', 10));
    await until(() => one.seen.length === 10);
    const idle = `${group()}-idle`;
    await admin.setOffsets({ groupId: idle, topic: topic(), partitions: [{ partition: 0, offset: '1' }] });
    await recreate(values('new', 30));
    // Brokers remove the offsets of all groups with the topic, some time after it. This commit comes later than that.
    await until(async () => (await places(idle))[topic()] === '-1');
    const stopped = one.stop();
    goOn();
    await stopped;
    expect(await places()).toMatchObject({ [topic()]: '10' });
    const next = consume({ from });
    await until(() => next.seen.length >= 30 || next.failure() !== null);
    expect(next.failure()).toBeNull();
    expect(next.seen).toEqual(values('new', 30));
    await next.stop();
  });
});

it("a place in a database of one's own is asked for by the id of the topic", async () => {
  const stored = new Map<string | null, number>();
  const positions = {
    load: (_topic: string, _partition: number, topicId: string | null) => stored.get(topicId) ?? null,
  };
  const one = consume({ from: 'beginning', positions }, (_value, logOffset, topicId) =>
    stored.set(topicId, logOffset + 1),
  );
  await send(topic(), values('old', 10));
  await until(() => one.seen.length === 10);
  await recreate(values('new', 3));
  await until(() => one.seen.length >= 13 || one.failure() !== null);
  expect(one.seen).toEqual([...values('old', 10), ...values('new', 3)]);
  expect([...stored.values()]).toEqual([10, 3]);
  expect([...stored.keys()]).not.toContain(null);
  await one.stop();
});

describe('a group with unread events in a topic', () => {
  const warningsOf = (one: ValueConsumer) => one.warnings.filter((text) => text.includes(topic()));
  const gone = () => `The topic ${topic()} was deleted.`;
  const createdAgain = (unread: string) =>
    `The topic ${topic()} was deleted and created again.${unread} The group ${group()} reads it from its beginning.`;

  it.each([
    ['its only topic', () => [topic()]],
    ['one of its topics', () => [topic(), other()]],
  ])('is warned once when %s is deleted, and once when it is created again', async (_, topics) => {
    const one = consume({ from: 'beginning', topics: topics() }, () => sleep(500));
    // Events that come after the group has begun count too.
    await until(async () => (await places())[topic()] === '0');
    await send(topic(), values('old', 20));
    await until(() => one.seen.length === 2);
    await admin.deleteTopics({ topics: [topic()] });
    await until(() => warningsOf(one).length > 0, 10_000);
    expect(warningsOf(one)).toEqual([gone()]);

    const unread = 20 - one.seen.length;
    await kafka.create({ topic: topic(), numPartitions: 1 });
    await send(topic(), values('new', 3));
    await until(() => one.seen.includes('new 2'));
    expect(warningsOf(one)).toEqual([gone(), createdAgain(` About ${unread} of its events were not read.`)]);
  });

  it('is not warned when members come and go', async () => {
    const members = [consume({ from: 'beginning' })];
    await until(isSettled);
    members.push(consume({ from: 'beginning' }));
    await send(topic(), values('old', 5));
    await until(() => members.flatMap((one) => one.seen).length >= 5);
    await members[0]!.stop();
    await send(topic(), values('later', 5));
    await until(() => members[1]!.seen.includes('later 4'));
    expect(members.flatMap(warningsOf)).toEqual([]);
  });
});

it('members that share its partitions read a topic that was recreated once', async () => {
  const partitions = 4;
  await admin.createPartitions({ topicPartitions: [{ topic: topic(), count: partitions }] });
  await createTopics(admin, [{ topic: topic(), numPartitions: partitions }]);
  const members = [consume({ from: 'beginning' }), consume({ from: 'beginning' })];
  const seen = () => members.flatMap((one) => one.seen).sort();
  let sent = 0;
  // Until both have something to do.
  await until(async () => {
    await send(topic(), values(`old ${sent++}`, partitions), partitions);
    return members.every((one) => one.seen.length > 0);
  });
  // A partition that goes to the second member may show its last records to both.
  await until(() => new Set(seen()).size === sent * partitions);
  await recreate(values('new', 40), partitions);
  const ofNew = () => seen().filter((value) => value.startsWith('new'));
  await until(() => ofNew().length >= 40 || members.some((one) => one.failure() !== null));
  expect(members.map((one) => one.failure())).toEqual([null, null]);
  expect(ofNew()).toEqual(values('new', 40).sort());
  for (const one of members) await one.stop();
});

describe('a reader without a group, such as a table,', () => {
  const lost = { code: 'LOG_POSITION_LOST', message: expect.stringContaining('created again') };

  it.each([
    ['longer', 30],
    ['shorter', 3],
  ])('ends with a named error when its topic is recreated %s', async (_, count) => {
    await send(topic(), values('old', 10));
    const seen: string[] = [];
    const following = (async () => {
      for await (const { value } of open().follow(topic(), new Map(), AbortSignal.timeout(60_000)))
        seen.push(String(value));
    })();
    following.catch(() => undefined);
    await until(() => seen.length === 10);
    await recreate(values('new', count));
    await expect(following).rejects.toMatchObject(lost);
    expect(seen).toEqual(values('old', 10));
  });

  it('ends with a named error if its topic was recreated before it began to read', async () => {
    await send(topic(), values('old', 10));
    const log = open();
    const { topicId, ends } = await log.ends(topic(), 'reachable', AbortSignal.timeout(60_000));
    await recreate(values('new', 30));
    const records = log.follow(topic(), ends, AbortSignal.timeout(60_000), topicId);
    await expect(records[Symbol.asyncIterator]().next()).rejects.toMatchObject(lost);
  });
});
