import { ipos } from '../../src/feeds/ipos';
import type { Grant } from '../../src/log/membership';
import { feedTopics } from '../../src/log/topics';
import { kafkaWorld } from '../support/kafka-world';
import { batch, deadline, readAll, record } from '../support/log-records';
import { uniquePrefix } from '../support/servers';

const kafka = kafkaWorld();
const topicPrefix = uniquePrefix();
const topics = feedTopics(ipos, topicPrefix);
const changes = topics.changes.name;
const open = (appId: string) => kafka.log({ appId, topicPrefix });

it('several publishers that take a feed over at once are told so, and the last one has it', async () => {
  const all = await Promise.all(Array.from({ length: 5 }, () => open('same')));
  const acquired = await Promise.allSettled(all.map((log) => log.acquire(topics, deadline())));
  const refused = acquired.flatMap((one) => (one.status === 'rejected' ? [one.reason.code as string] : []));
  const sessions = acquired.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));

  expect(refused.filter((code) => code !== 'LOG_FENCED')).toStrictEqual([]);
  const committed = await Promise.allSettled(
    sessions.map((session, i) =>
      session.commit(batch(session, topics, [record(changes, `race ${i}`, 'x')], 1)),
    ),
  );
  expect(committed.filter(({ status }) => status === 'fulfilled').length).toBeLessThanOrEqual(1);
});

// The brokers fence by transactional id, and these two have different ones.
it('two publishers with different app ids on the same topics: each learns of the other before it commits over it', async () => {
  const [first, second] = [open('renamed'), open('original')];
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

  const all = await readAll(second, [changes]);
  const values = all.filter(({ key }) => key === 'a').map(({ value }) => String(value));
  expect(values).toEqual(['1', '2', '3']);
});

/** The other instances' answer about a feed. */
function grant(isStillMine: () => boolean): Grant {
  return { revoked: new AbortController().signal, confirm: async () => isStillMine() };
}

it('a publisher that does not know its successor acquires nothing, and its successor goes on', async () => {
  const [zombie, successor] = [open('same'), open('same')];
  const held = await successor.acquire(topics, deadline());
  await held.commit(batch(held, topics, [record(changes, 'successor', '1')], 1));
  await expect(
    zombie.acquire(
      topics,
      deadline(),
      grant(() => false),
    ),
  ).rejects.toMatchObject({ code: 'LOG_FENCED' });
  await held.commit(batch(held, topics, [record(changes, 'successor', '2')], 2));
});

// A successor takes the transactional id first and writes its fence then: in between, the log shows nothing of it.
it('an owner that the brokers refuse asks the others before it takes the feed back', async () => {
  let isMine = true;
  const log = open('same');
  const session = await log.acquire(
    topics,
    deadline(),
    grant(() => isMine),
  );
  await session.commit(batch(session, topics, [record(changes, 'asked', '1')], 1));
  const successor = kafka.client().producer({
    transactionalId: `same:${topicPrefix}ipos`,
    idempotent: true,
    maxInFlightRequests: 1,
  });
  await successor.connect();
  try {
    // With this it has the id.
    const transaction = await successor.transaction();
    isMine = false;
    const refused = session.commit(batch(session, topics, [record(changes, 'asked', '2')], 2));
    await expect(refused).rejects.toMatchObject({ code: 'LOG_FENCED' });
    // Its producer was not fenced.
    await transaction.send({ topic: changes, messages: [{ key: 'taken', value: 'x' }] });
    await transaction.abort();
  } finally {
    await successor.disconnect();
  }
});
