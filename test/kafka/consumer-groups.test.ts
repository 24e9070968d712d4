import type { Admin, Producer } from 'kafkajs';
import type { LogRecord } from '../../src/log/commit-log';
import { FENCE_KEY } from '../../src/log/commit-log';
import type { AssignedPartition } from '../../src/log/consumer-log';
import { type MemberProcess, startMemberProcess } from '../support/group-member-process';
import {
  numbers,
  said,
  saidOf,
  startMember,
  type TestMember,
  type TestMemberOptions,
} from '../support/group-members';
import { kafkaTools } from '../support/kafka-tools';
import { kafkaWorld } from '../support/kafka-world';
import { collect, deadline } from '../support/log-records';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

const PARTITIONS = 4;
/** Timeout for members that should be given up. */
const sessionTimeoutMs = 6_000;
/** For the others: a busy machine costs nobody a place. */
const LONG_SESSION_MS = 30_000;
const folder = tempFolder();
const kafka = kafkaWorld();
let admin: Admin;
let producer: Producer;
const processes: MemberProcess[] = [];
const producers: Producer[] = [];

const topic = () => `${kafka.prefix()}events`;
const group = () => `${kafka.prefix()}desk`;
const open = () => kafka.consumerLog();

beforeEach(async () => {
  admin = await kafka.admin();
  await create(topic(), PARTITIONS);
  producer = await newProducer();
});

afterEach(async () => {
  await Promise.all(processes.splice(0).map((one) => one.kill()));
  await Promise.all(producers.splice(0).map((one) => one.disconnect()));
});

const create = (name: string, numPartitions: number) => kafka.create({ topic: name, numPartitions });

async function newProducer(transactionalId?: string): Promise<Producer> {
  const made = kafka.client().producer({
    allowAutoTopicCreation: false,
    maxInFlightRequests: 1,
    ...(transactionalId !== undefined && { transactionalId }),
  });
  producers.push(made);
  await made.connect();
  return made;
}

/** A member with connections of its own. */
const start = (rest: Partial<TestMemberOptions> = {}): TestMember =>
  startMember(open(), { groupId: group(), topics: [topic()], sessionTimeoutMs: LONG_SESSION_MS, ...rest });

function startProcess({ holds = false, sessionMs = sessionTimeoutMs, name = topic() } = {}): MemberProcess {
  const options = {
    brokers: kafka.brokers(),
    groupId: group(),
    topics: [name],
    sessionTimeoutMs: sessionMs,
    holds,
  };
  const one = startMemberProcess(options);
  processes.push(one);
  return one;
}

/** Records of values from one number to before another, spread over the partitions. */
async function send(from: number, to: number, name = topic(), partitions = PARTITIONS): Promise<void> {
  // One of its own for a topic that is deleted: kafkajs asks for it ever after.
  const sender = name === topic() ? producer : await newProducer();
  await sender.send({ topic: name, messages: numbers(from, to, partitions) });
}

/** As retention does. */
async function forget(partition: number, before: number): Promise<void> {
  const own = kafka.client().admin();
  await own.connect();
  // It knows leaders of topics alone that it was asked about.
  await own.fetchTopicOffsets(topic());
  await own.deleteTopicRecords({ topic: topic(), partitions: [{ partition, offset: String(before) }] });
  await own.disconnect();
}

const counts = (...members: TestMember[]) => members.map(({ held }) => held.size);

async function offsets(name = topic()): Promise<Record<number, string>> {
  const [found] = await admin.fetchOffsets({ groupId: group(), topics: [name] });
  return Object.fromEntries(found!.partitions.map(({ partition, offset }) => [partition, offset]));
}

it('partitions spread over the members that come, and go to those that remain', async () => {
  const a = start();
  await until(() => counts(a)[0] === 4);
  const b = start();
  await until(() => `${counts(a, b)}` === '2,2');
  const had = [a.has(), b.has()];
  const c = start();
  await until(() => `${counts(a, b, c).sort()}` === '1,1,2');
  expect([...a.has(), ...b.has(), ...c.has()].sort()).toEqual([0, 1, 2, 3].map((i) => `${topic()} ${i}`));
  expect(had[0]).toEqual(expect.arrayContaining(a.has()));
  expect(had[1]).toEqual(expect.arrayContaining(b.has()));
  await b.member.leave();
  await until(() => `${counts(a, b, c)}` === '2,0,2');
});

it('a member with many partitions, which commit at once, makes Node.js warn of no leak', async () => {
  const wide = `${kafka.prefix()}wide`;
  await create(wide, 12);
  await send(0, 12, wide, 12);
  const member = startProcess({ holds: true, sessionMs: LONG_SESSION_MS, name: wide });
  await until(() => member.begun.length === 12);
  member.goOn();
  await until(() => member.handled.length === 12);
  expect(member.warnings).toEqual([]);
});

it('members that come and go under load lose nothing, repeat nothing, and keep each key in order', async () => {
  const begun: string[] = [];
  const handle = async (batch: readonly LogRecord[]) => {
    begun.push(...batch.map(({ key, value }) => `${key} ${value}`));
    // Most of the time something is in hand.
    await new Promise((resolve) => setTimeout(resolve, 20));
  };
  const members = [start({ handle })];
  const total = 4_000;
  const sending = (async () => {
    for (let i = 0; i < total; i += 40) {
      await send(i, i + 40);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  })();
  for (let i = 0; i < 3; i++) {
    await until(() => members.some(({ held }) => held.size > 0));
    members.push(start({ handle }));
    await until(() => members.at(-1)!.handled.length > 0);
    await members[i]!.member.leave();
  }
  await sending;
  await until(() => members.reduce((sum, { handled }) => sum + handled.length, 0) >= total);
  expect(said(...members)).toEqual(saidOf(0, total));
  expect([...begun].sort()).toEqual(saidOf(0, total));
  expect(members.flatMap(({ failures }) => failures)).toStrictEqual([]);
  expect(await offsets()).toEqual({ 0: '1000', 1: '1000', 2: '1000', 3: '1000' });
});

it('the partitions of a killed member go to another within the session timeout, from its committed positions', async () => {
  await send(0, 40);
  const killed = startProcess();
  await until(() => killed.handled.length === 40);
  const holding = start({ topics: [topic()] });
  await until(() => counts(holding)[0] === 2);
  await killed.kill();
  const killedAt = performance.now();
  await send(40, 80);
  await until(() => counts(holding)[0] === 4);
  // And as long as it takes to notice, on a busy machine too; the other member's session is longer.
  expect(performance.now() - killedAt).toBeLessThan(LONG_SESSION_MS);
  await until(() => holding.handled.length + killed.handled.length >= 80);
  expect([...said(holding), ...killed.handled].sort()).toEqual(saidOf(0, 80));
});

it('on the same machine the next one need not wait for the session of one that was killed', async () => {
  await send(0, 40);
  const killed = startProcess({ sessionMs: LONG_SESSION_MS });
  await until(() => killed.handled.length === 40);
  await killed.kill();
  const killedAt = performance.now();
  const next = start();
  await until(() => counts(next)[0] === 4);
  expect(performance.now() - killedAt).toBeLessThan(LONG_SESSION_MS - 5_000);
});

it('one that stood still cannot commit over its successor, and comes back as a member', async () => {
  await send(0, 40);
  const frozen = startProcess({ holds: true });
  await until(() => frozen.begun.length === 40);
  frozen.signal('SIGSTOP');
  const successor = start();
  await until(() => counts(successor)[0] === 4);
  await until(() => successor.handled.length === 40);
  await send(40, 80);
  await until(() => successor.handled.length === 80);
  const before = await offsets();
  frozen.signal('SIGCONT');
  frozen.goOn();
  await until(() => frozen.failures.length === 4);
  expect(new Set(frozen.failures)).toEqual(new Set(['GROUP_LOST']));
  expect(frozen.handled).toStrictEqual([]);
  expect(await offsets()).toEqual(before);

  await until(() => counts(successor)[0] === 2);
  await send(80, 120);
  await until(() => successor.handled.length + frozen.handled.length === 120);
  expect([...said(successor), ...frozen.handled].sort()).toEqual(saidOf(0, 120));
});

it('a handler that takes longer than the group waits cannot commit, and others go on meanwhile', async () => {
  await send(0, 40);
  let goOn = (): void => undefined;
  const inHand = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  let begun = 0;
  const handle = (batch: readonly LogRecord[]) => {
    begun += batch.length;
    return inHand;
  };
  const slow = start({ handle, sessionTimeoutMs });
  await until(() => begun === 40);
  const quick = start();
  await until(() => quick.handled.length === 20);
  goOn();
  await until(() => slow.failures.length === 4);
  for (const failure of slow.failures) expect(failure).toMatchObject({ code: 'GROUP_LOST' });
  // It handles the events again that it still got.
  await until(() => quick.handled.length + slow.handled.length === 40);
  expect(said(quick, slow)).toEqual(saidOf(0, 40));
});

it('nothing of open and aborted transactions is shown, nor fences', async () => {
  const transactional = await newProducer(`${kafka.prefix()}tx`);
  const transaction = async (value: string) => {
    const begun = await transactional.transaction();
    const messages = [0, 1, 2, 3].map((partition) => ({ key: 'k', value, partition }));
    await begun.send({ topic: topic(), messages });
    return begun;
  };
  await (await transaction('0')).commit();
  await (await transaction('aborted')).abort();
  const headers = { owner_epoch: 'e' };
  const fences = [0, 1, 2, 3].map((partition) => ({ key: FENCE_KEY, value: null, headers, partition }));
  await producer.send({ topic: topic(), messages: fences });
  const open = await transaction('1');
  const one = start();
  await until(() => one.handled.length === 4);
  // Behind the open transaction.
  await producer.send({ topic: topic(), messages: [{ key: 'k', value: '2', partition: 0 }] });
  expect(said(one)).toEqual(['k 0', 'k 0', 'k 0', 'k 0']);
  await open.commit();
  await until(() => one.handled.length === 9);
  expect(said(one).slice(4)).toEqual(['k 1', 'k 1', 'k 1', 'k 1', 'k 2']);
});

it('a place that retention has passed is lost, while reading too, and the message names it', async () => {
  await send(0, 40);
  const first = start();
  await until(() => first.handled.length === 40);
  await first.member.leave();
  await send(40, 80);
  await forget(1, 15);
  const late = start();
  await until(() => late.failures.length === 1);
  expect(late.failures[0]).toMatchObject({
    code: 'LOG_POSITION_LOST',
    message: expect.stringContaining(`offset 10 of partition 1 of ${topic()}`),
  });
  expect(late.failures[0]).toMatchObject({ message: expect.stringContaining('it holds 15 to 20') });
  await until(() => late.handled.length === 30);
  expect(counts(late)).toEqual([3]);

  const followed = collect(open().follow(topic(), new Map([[1, 12]]), deadline()));
  await expect(followed).rejects.toMatchObject({ code: 'LOG_POSITION_LOST' });
});

it('a topic that is deleted keeps nobody from the others, and is taken up when it is made anew', async () => {
  const other = `${kafka.prefix()}other`;
  await create(other, 1);
  const one = start({ topics: [topic(), other] });
  await until(() => counts(one)[0] === 5);
  await send(0, 10, other, 1);
  await until(() => one.handled.length === 10);
  await admin.deleteTopics({ topics: [other] });
  await until(() => counts(one)[0] === 4);
  await send(10, 50);
  await until(() => one.handled.length === 50);
  await create(other, 1);
  await send(50, 60, other, 1);
  await until(() => one.handled.length === 60);
  expect(said(one)).toEqual(saidOf(0, 60));
  expect(one.failures).toStrictEqual([]);
});

it('a consumer of another program goes on where the members have left, and they where it left', async () => {
  await send(0, 40);
  const ours = start();
  await until(() => ours.handled.length === 40);
  await ours.member.leave();
  await send(40, 80);

  const consumer = kafka.client().consumer({ groupId: group() });
  const seen: string[] = [];
  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [topic()], fromBeginning: true });
    await consumer.run({
      eachMessage: async ({ message }) => void seen.push(`${message.key} ${message.value}`),
    });
    await until(() => seen.length === 40);
    const meanwhile = start();
    await expect(meanwhile.member.over).rejects.toMatchObject({
      code: 'LOG_FAILED',
      message: expect.stringContaining('do not speak the protocol'),
    });
  } finally {
    await consumer.disconnect();
  }
  expect(seen.sort()).toEqual(saidOf(40, 80));
  await send(80, 120);
  const again = start();
  await until(() => again.handled.length === 40);
  expect(said(again)).toEqual(saidOf(80, 120));
});

it("Kafka's own tool shows members, partitions and lag", async () => {
  await send(0, 40);
  const transactional = await newProducer(`${kafka.prefix()}tx`);
  const transaction = await transactional.transaction();
  await transaction.send({ topic: topic(), messages: [{ key: 'k', value: '40', partition: 3 }] });
  await transaction.commit();
  const [a, b] = [start(), start()];
  await until(() => `${counts(a, b)}` === '2,2' && a.handled.length + b.handled.length === 41);
  const run = await kafkaTools({ folder: folder() });
  const shown = await run(
    `kafka-consumer-groups.sh --bootstrap-server ${kafka.brokers()} --describe --group ${group()}`,
  );
  const rows = shown
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([name]) => name === group())
    .map(([, name, partition, current, end, lag, consumerId]) => ({
      name,
      partition,
      current,
      end,
      lag,
      consumerId,
    }));
  expect(rows.map(({ name, partition }) => `${name} ${partition}`).sort()).toEqual(
    [0, 1, 2, 3].map((i) => `${topic()} ${i}`),
  );
  // The marker of the transaction, which no reader is shown, counts as read.
  expect(rows.map(({ current, end, lag }) => [current, end, lag].join()).sort()).toEqual([
    '10,10,0',
    '10,10,0',
    '10,10,0',
    '12,12,0',
  ]);
  expect(new Set(rows.map(({ consumerId }) => consumerId)).size).toBe(2);
});

it('a session timeout that the brokers do not take ends it', async () => {
  const one = start({ sessionTimeoutMs: 1 });
  await expect(one.member.over).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    remedy: expect.stringContaining('sessionTimeoutMs'),
  });
});

it('a partition is not worked on twice at once, however long the first work takes', async () => {
  let goOn = (): void => undefined;
  const inHand = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const running = new Map<number, number>();
  let most = 0;
  const begun: number[] = [];
  const work = async ({ partition }: AssignedPartition) => {
    begun.push(partition);
    running.set(partition, (running.get(partition) ?? 0) + 1);
    most = Math.max(most, ...running.values());
    await inHand;
    running.set(partition, running.get(partition)! - 1);
  };
  const member = open().joinGroup({ groupId: group(), topics: [topic()], sessionTimeoutMs, work });
  await until(() => begun.length === 4);
  const passing = start();
  await until(() => counts(passing)[0] === 2);
  await passing.member.leave();
  goOn();
  await until(() => begun.length > 4);
  expect(most).toBe(1);
  await member.leave();
});
