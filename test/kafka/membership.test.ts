import { once } from 'node:events';
import { AssignerProtocol, type Consumer } from 'kafkajs';
import { CoordinatorLink } from '../../src/log/kafka/group/coordinator';
import { decodeFeeds } from '../../src/log/kafka/group/owners-protocol';
import type { Grant, Membership } from '../../src/log/membership';
import { feedTopics } from '../../src/log/topics';
import { createTopics } from '../support/create-topics';
import { testFeed } from '../support/feeds';
import { kafkaWorld } from '../support/kafka-world';
import { deadline } from '../support/log-records';
import { startProxiedKafka } from '../support/proxied-kafka';
import { until } from '../support/until';

const FEEDS = ['insights', 'analysts', 'ipos'];
/** Timeout for members that should be given up. */
const sessionTimeoutMs = 2_000;
/** For the others: a busy machine costs nobody a place. */
const LONG_SESSION_MS = 20_000;
const kafka = kafkaWorld(startProxiedKafka);
const open = (brokers = kafka.brokers(), sessionMs = LONG_SESSION_MS) =>
  kafka.log({ brokers, kafka: { sessionTimeoutMs: sessionMs } });

interface Instance {
  readonly membership: Membership;
  /** The feeds that are its own now. */
  readonly has: () => string[];
  readonly grant: (feed: string) => Grant | undefined;
}

/** An instance that acquires its assigned feeds. */
function start(
  instance: string,
  {
    brokers,
    isGuest = false,
    feeds = FEEDS,
    sessionMs = LONG_SESSION_MS,
  }: {
    readonly brokers?: string;
    readonly isGuest?: boolean;
    readonly feeds?: readonly string[];
    readonly sessionMs?: number;
  } = {},
): Instance {
  const specs = feeds.map((feed) => feedTopics(testFeed(feed), kafka.prefix()));
  const membership = open(brokers, sessionMs).join(specs, { instance, isGuest });
  const grants = new Map<string, Grant>();
  const take = async (feed: string): Promise<void> => {
    for (;;) {
      const grant = await membership.grant(feed, AbortSignal.timeout(120_000));
      grants.set(feed, grant);
      await once(grant.revoked, 'abort');
      grants.delete(feed);
    }
  };
  if (!isGuest) for (const feed of feeds) take(feed).catch(() => undefined);
  return { membership, has: () => [...grants.keys()].sort(), grant: (feed) => grants.get(feed) };
}

const counts = (...instances: Instance[]) => instances.map(({ has }) => has().length);
const all = (...instances: Instance[]) => instances.flatMap(({ has }) => has()).sort();

it('feeds spread over the instances that come, and go to those that remain', async () => {
  const a = start('a');
  await until(() => counts(a)[0] === 3);
  const b = start('b');
  await until(() => `${counts(a, b)}` === '2,1');
  const c = start('c');
  await until(() => `${counts(a, b, c)}` === '1,1,1');
  const d = start('d');
  expect(await d.membership.grant('ipos', AbortSignal.timeout(1_500)).catch((error) => error.name)).toBe(
    'TimeoutError',
  );
  expect(counts(a, b, c)).toEqual([1, 1, 1]);

  await a.membership.leave();
  await until(() => `${counts(a, b, c, d)}` === '0,1,1,1');
  expect(all(b, c, d)).toEqual(['analysts', 'insights', 'ipos']);
});

it('a place is confirmed while it holds, and not when the group has gone on without this member', async () => {
  const a = start('a', { brokers: kafka.server().brokers, sessionMs: sessionTimeoutMs });
  await until(() => counts(a)[0] === 3);
  const mine = a.grant('ipos')!;
  expect(await mine.confirm(deadline())).toBe(true);

  kafka.server().proxy.freeze();
  const b = start('b');
  await until(() => counts(b)[0] === 3);
  expect(mine.revoked.aborted).toBe(false);
  kafka.server().proxy.thaw();
  expect(await a.grant('insights')!.confirm(deadline())).toBe(false);
  await until(() => counts(a)[0] === 1);
  await until(() => counts(b)[0] === 2);
});

it('a guest is told who has a feed, has it where nobody else is, and leaves no group behind', async () => {
  const guest = start('g', { isGuest: true, feeds: ['ipos'] });
  await guest.membership.grant('ipos', deadline());
  const a = start('a');
  await until(() => counts(a)[0] === 2);
  expect(a.has()).toEqual(['analysts', 'insights']);
  await guest.membership.leave();
  await until(() => counts(a)[0] === 3);

  const second = start('h', { isGuest: true, feeds: ['ipos'] });
  const refused = { code: 'LOG_OWNED', message: expect.stringContaining('is owned by a') };
  await expect(second.membership.grant('ipos', deadline())).rejects.toMatchObject(refused);
  await second.membership.leave();
  expect(counts(a)).toEqual([3]);
  await a.membership.leave();

  const last = start('l', { isGuest: true });
  await last.membership.grant('ipos', deadline());
  await last.membership.leave();
  expect(await groups()).toStrictEqual([]);
});

async function groups(): Promise<string[]> {
  const admin = kafka.client().admin();
  await admin.connect();
  const { groups: found } = await admin.listGroups();
  await admin.disconnect();
  return found.map(({ groupId }) => groupId).filter((id) => id.includes(kafka.prefix()));
}

it('a coordinator that is killed and comes back finds the owners as they were', async () => {
  const [a, b] = [start('a'), start('b')];
  // Not while the first member still has all of them.
  await until(() => all(a, b).length === 3 && a.has().length > 0 && b.has().length > 0);
  const before = [a.has(), b.has()];
  await kafka.server().broker.kill();
  await kafka.server().broker.restart();
  // If the broker takes long to come back, the question fails and is asked again.
  const isConfirmed = async () =>
    (await a
      .grant(a.has()[0]!)
      ?.confirm(deadline())
      .catch(() => null)) === true;
  await until(isConfirmed);
  await until(() => all(a, b).length === 3);
  expect([a.has(), b.has()]).toEqual(before);
});

it('a feed that one instance cannot take over goes to another, and stays where none can', async () => {
  const a = start('a', { feeds: ['ipos'] });
  await until(() => counts(a)[0] === 1);
  a.membership.decline('ipos');
  const b = start('b', { feeds: ['ipos'] });
  await until(() => `${counts(a, b)}` === '0,1');
  b.membership.decline('ipos');
  await until(async () => (await b.grant('ipos')?.confirm(deadline())) === true);
  expect(counts(a, b)).toEqual([0, 1]);
});

it('a member that cannot reach the others is told so when it asks, and keeps its feeds', async () => {
  const a = start('a', { brokers: kafka.server().brokers, sessionMs: sessionTimeoutMs });
  await until(() => counts(a)[0] === 3);
  kafka.server().proxy.freeze();
  const asked = a.grant('ipos')!.confirm(AbortSignal.timeout(50_000));
  await expect(asked).rejects.toMatchObject({ code: 'KAFKA_UNREACHABLE' });
  expect(counts(a)).toEqual([3]);
  kafka.server().proxy.thaw();
  await until(async () => (await a.grant('ipos')?.confirm(deadline())) === true);
});

it('a member that ends while it joins leaves no ghost behind', async () => {
  const a = start('a');
  await until(() => counts(a)[0] === 3);
  const began = performance.now();
  const passing = start('b');
  await passing.membership.leave();
  const c = start('c');
  await until(() => counts(c)[0] === 1);
  expect(performance.now() - began).toBeLessThan(LONG_SESSION_MS - 5_000);
  await until(() => counts(a)[0] === 2);
});

it('a member that cannot be understood gets nothing, and keeps nobody from what is theirs', async () => {
  const a = start('a');
  await until(() => counts(a)[0] === 3);
  const groupId = `test:${kafka.prefix()}owners`;
  const connection = new CoordinatorLink(kafka.client(), groupId);
  try {
    const odd = await connection.connect();
    const userData = Buffer.from('not ours');
    const metadata = AssignerProtocol.MemberMetadata.encode({ version: 1, topics: ['ipos'], userData });
    const { memberId, generationId } = await odd.joinGroup({
      groupId,
      memberId: '',
      sessionTimeout: 5_000,
      rebalanceTimeout: 5_000,
      groupProtocols: [{ name: 'highwater', metadata }],
    });
    const { memberAssignment } = await odd.syncGroup({
      groupId,
      memberId,
      generationId,
      groupAssignment: [],
    });
    expect(decodeFeeds(memberAssignment).feeds).toStrictEqual([]);
    expect(await a.grant('ipos')!.confirm(deadline())).toBe(true);
    expect(counts(a)).toEqual([3]);
    await odd.leaveGroup({ groupId, memberId });
  } finally {
    connection.drop();
  }
});

describe('what the group refuses', () => {
  let consumer: Consumer | null = null;
  afterEach(() => consumer?.disconnect());

  it('a group of other consumers is named', async () => {
    const client = kafka.client();
    const admin = client.admin();
    await admin.connect();
    await createTopics(admin, [{ topic: `${kafka.prefix()}other` }]);
    await admin.disconnect();
    consumer = client.consumer({ groupId: `test:${kafka.prefix()}owners` });
    await consumer.connect();
    await consumer.subscribe({ topic: `${kafka.prefix()}other` });
    const joined = new Promise((resolve) => consumer!.on('consumer.group_join', resolve));
    await consumer.run({ eachMessage: async () => {} });
    await joined;
    const membership = open().join([feedTopics(testFeed('ipos'), kafka.prefix())], {
      instance: 'a',
      isGuest: false,
    });
    await expect(membership.grant('ipos', deadline())).rejects.toMatchObject({
      code: 'LOG_FAILED',
      remedy: expect.stringContaining(`test:${kafka.prefix()}owners`),
    });
  });
});
