import type { Admin } from 'kafkajs';
import { cliPublisher } from '../support/cli-publisher';
import { createTopics } from '../support/create-topics';
import { kafkaWorld } from '../support/kafka-world';
import { until } from '../support/until';

/** A topic of events that is deleted takes the history with it, and nothing that the state has: only the topic's id tells. */

const kafka = kafkaWorld();
let admin: Admin;
beforeEach(async () => {
  admin = await kafka.admin();
});

const { api, done, running, stillPolled } = cliPublisher(() => kafka.env());
const runOnce = () => done(['run', '--once']);
const name = (topic: string) => `${kafka.prefix()}${topic}`;

async function drop(topic: string): Promise<void> {
  await admin.deleteTopics({ topics: [topic] });
  await until(async () => !(await admin.listTopics()).includes(topic));
}

async function recreate(topic: string, numPartitions = 3): Promise<void> {
  await drop(topic);
  await createTopics(admin, [{ topic, numPartitions }]);
}

const times = (said: string) => said.split('code=LOG_TOPIC_LOST').length - 1;

/** The problem in `status`, until a snapshot of the feed has been taken. */
async function expectKnownUntilSnapshot(topic: string): Promise<void> {
  const status = async () => (await done(['status'])).said;
  expect(await status()).toMatch(`opic ${topic} was deleted and created again`);
  expect(await status()).toContain('highwater snapshot ipos');
  expect((await done(['snapshot', 'ipos'])).code).toBe(0);
  await until(async () => !(await status()).includes('created again'));
}

const lost = [
  ['the changes are', 'ipos'],
  ['the transitions are', 'ipos.deal-status'],
] as const;

it.each(lost)(
  '%s deleted and created again while no publisher runs: the next one says so once',
  async (_, topic) => {
    const first = await runOnce();
    expect([first.code, times(first.said)]).toEqual([0, 0]);
    await recreate(name(topic));

    const { code, said } = await runOnce();

    expect([code, times(said)]).toEqual([0, 1]);
    expect(said).toMatch(
      `ERROR ipos: Topic ${name(topic)} was deleted and created again: the earlier events are gone.`,
    );
    expect(said).toContain(
      'now: The feed goes on with the same images and numbers; new events are published.',
    );
    expect(said).toContain(
      '`highwater snapshot ipos` publishes every record again; transitions do not come again',
    );
    expect(times((await runOnce()).said)).toBe(0);
    await expectKnownUntilSnapshot(name(topic));
    expect(times((await runOnce()).said)).toBe(0);
  },
);

it('dead letters that are deleted while no publisher runs are named until a snapshot', async () => {
  await runOnce();
  await drop(name('ipos.dead-letters'));
  const { code, said } = await runOnce();
  expect([code, times(said)]).toEqual([0, 1]);
  await expectKnownUntilSnapshot(name('ipos.dead-letters'));
});

it('a retry of dead letters names their topic if it was deleted, and the feed goes on', async () => {
  const publisher = await running();
  await drop(name('ipos.dead-letters'));
  const beganAt = performance.now();
  const { code, said } = await done(['dead-letters', 'retry', 'ipos']);
  expect([code, said]).toEqual([
    1,
    expect.stringContaining(`Topic ${name('ipos.dead-letters')} is not there any more`),
  ]);
  expect(performance.now() - beganAt).toBeLessThan(20_000);
  await publisher.sees(/Feed ipos is read again/, 'stderr');
  await stillPolled('ipos');
  await expectKnownUntilSnapshot(name('ipos.dead-letters'));
});

it('topics that are deleted while no publisher runs are named together', async () => {
  await runOnce();
  await drop(name('ipos'));
  await drop(name('ipos.deal-status'));

  const { code, said } = await runOnce();

  expect([code, times(said)]).toEqual([0, 1]);
  expect(said).toContain(
    `Topics ${name('ipos')}, ${name('ipos.deal-status')} were deleted and created again`,
  );
});

it.each(lost)(
  '%s deleted and created again while a publisher runs: it says so once, and goes on',
  async (_, topic) => {
    const publisher = await running();
    api().marketDay.start(20);
    await stillPolled('ipos');
    await recreate(name(topic), 6);

    await publisher.sees(/code=LOG_TOPIC_LOST/, 'stderr');
    await publisher.sees(/Feed ipos is read again/, 'stderr');
    await stillPolled('ipos', 10);

    await expectKnownUntilSnapshot(name(topic));
    publisher.signal('SIGTERM');
    expect(await publisher.ended()).toEqual({ code: 0, signal: null });
    expect(times(publisher.stderr())).toBe(1);
    expect(publisher.stderr()).toContain('`highwater snapshot ipos` publishes every record again');
    expect(times((await runOnce()).said)).toBe(0);
  },
);

it('the changes are deleted while a publisher runs: it says so once, and creates them', async () => {
  const publisher = await running();
  api().marketDay.start(20);
  await stillPolled('ipos');
  await admin.deleteTopics({ topics: [name('ipos')] });

  await publisher.sees(/code=LOG_TOPIC_LOST/, 'stderr');
  await publisher.sees(/Feed ipos is read again/, 'stderr');

  await expectKnownUntilSnapshot(name('ipos'));
  publisher.signal('SIGTERM');
  await publisher.ended();
  expect(times(publisher.stderr())).toBe(1);
});

it('nothing is said of records that are deleted, of more partitions, nor of a reset', async () => {
  await runOnce();
  const topic = name('ipos');
  const partitions = (await admin.fetchTopicOffsets(topic)).map(({ partition, high }) => ({
    partition,
    offset: high,
  }));
  await admin.deleteTopicRecords({ topic, partitions });
  await admin.createPartitions({ topicPartitions: [{ topic, count: 5 }] });
  expect(times((await runOnce()).said)).toBe(0);
  await done(['reset', 'ipos', '--yes']);
  expect(times((await runOnce()).said)).toBe(0);
  expect((await done(['status'])).said).not.toContain('created again');
});

it('a reset does not hide a topic that is deleted after it', async () => {
  await runOnce();
  await done(['reset', 'ipos', '--yes']);
  await recreate(name('ipos'));
  expect(times((await runOnce()).said)).toBe(1);
});
