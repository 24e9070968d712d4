import { ConfigResourceTypes } from 'kafkajs';
import { confluentRegistry } from '../../src/avro/registry/confluent-registry';
import { ipos } from '../../src/feeds/ipos';
import type { FeedTopics } from '../../src/log/commit-log';
import { feedTopics } from '../../src/log/topics';
import { type ChangeWriter, changeWriter } from '../support/change-writer';
import { endsWithTest } from '../support/ends';
import { failureOf } from '../support/failure';
import { kafkaWorld } from '../support/kafka-world';
import { deadline } from '../support/log-records';
import { quietLogger } from '../support/source';
import { DEADLINE_MS, until } from '../support/until';

/** Settings of topics that somebody changes while their feed is published. */

const kafka = kafkaWorld();
let topics: FeedTopics;
beforeEach(() => {
  topics = feedTopics(ipos, kafka.prefix());
});

const log = (limits = { settingsMs: 50 }) => kafka.log({ limits });

async function publisher(limits?: { readonly settingsMs: number }): Promise<ChangeWriter> {
  const config = { url: kafka.registryUrl(), auth: null, registration: 'register' } as const;
  const registry = confluentRegistry(config, { logger: quietLogger() });
  const writer = await changeWriter({ commitLog: log(limits), registry }, kafka.prefix());
  endsWithTest(() => writer.close());
  return writer;
}

/** Other settings of a topic get the defaults of the brokers. */
async function change(topic: string, settings: Readonly<Record<string, string>>): Promise<void> {
  const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
  const resources = [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries }];
  await (await kafka.admin()).alterConfigs({ validateOnly: false, resources });
}

const policy = (topic: string, value: string) => change(topic, { 'cleanup.policy': value });

/** Lets topics take records of up to so many bytes. */
async function limit(of: readonly { readonly name: string }[], bytes: number): Promise<void> {
  const policies = { [topics.current.name]: 'compact', [topics.deadLetters.name]: 'compact,delete' };
  for (const { name } of of)
    await change(name, {
      'cleanup.policy': policies[name] ?? 'delete',
      'max.message.bytes': String(bytes),
    });
}

async function addPartition({ name }: { readonly name: string }): Promise<void> {
  await (await kafka.admin()).createPartitions({ topicPartitions: [{ topic: name, count: 2 }] });
}

it('a topic that is deleted ends the ownership of an idle feed, too', async () => {
  const session = await log().acquire(topics, deadline());
  const { name } = topics.deadLetters;
  await (await kafka.admin()).deleteTopics({ topics: [name] });
  let lost: unknown = null;
  await until(() => {
    try {
      session.gather();
    } catch (error) {
      lost = error;
    }
    return lost !== null;
  }, 20_000);
  expect(lost).toMatchObject({ code: 'LOG_TOPIC_LOST', message: `Topic ${name} is not there any more` });
  await session.release();
});

it.each([
  [
    'images that are deleted by their age',
    'cleanup.policy of \\S+\\.current is delete, expected compact',
    () => policy(topics.current.name, 'delete'),
  ],
  [
    'a source offset that is deleted by its age',
    'cleanup.policy of \\S+\\.source-offset is delete, expected compact',
    () => policy(topics.sourceOffset.name, 'delete'),
  ],
  [
    'events that are compacted',
    'cleanup.policy of \\S+ipos is compact, expected delete',
    () => policy(topics.changes.name, 'compact'),
  ],
  [
    'a second partition of the source offset',
    'partitions of \\S+\\.source-offset is 2, expected 1',
    () => addPartition(topics.sourceOffset),
  ],
])(
  '%s end the ownership by name, with the command',
  async (_, what, spoil) => {
    const { write } = await publisher();
    await write({ id: 'a', status: 'Filed' });
    await spoil();
    const failure = await failureOf(writingOn(write));
    expect(failure).toMatchObject({
      code: 'LOG_TOPIC_MISMATCH',
      message: expect.stringMatching(new RegExp(what)),
      remedy: expect.stringMatching(/kafka-(configs|topics)\.sh/),
    });
  },
  60_000,
);

/** Until a commit fails. */
async function writingOn(write: ChangeWriter['write']): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  for (let i = 0; Date.now() < deadline; i++) await write({ id: 'a', status: `${i}` });
}

it('a larger max.message.bytes counts at once for an owner, and so does a smaller one', async () => {
  const session = await log().acquire(topics, new AbortController().signal);
  const all = [topics.changes, topics.current, topics.deadLetters, ...topics.transitions];
  expect(session.maxRecordBytes()).toBeLessThan(1_048_588);
  await limit(all, 3_000_000);
  await until(() => session.maxRecordBytes() > 2_900_000);
  await limit(all, 50_000);
  await until(() => session.maxRecordBytes() < 50_000);
  await session.release();
}, 60_000);

it('a smaller max.message.bytes that an owner does not know yet is named, with the topic and the command', async () => {
  const { write } = await publisher({ settingsMs: 1_000_000 });
  await write({ id: 'a', status: 'Filed' });
  await limit([topics.current], 1_000);
  const failure = await failureOf(write({ id: 'b'.repeat(3_000), status: 'Filed' }));
  expect(failure).toMatchObject({
    code: 'LOG_FAILED',
    message: expect.stringMatching(
      new RegExp(
        `refuse records for ${topics.current.name} as too large \\(MESSAGE_TOO_LARGE\\): max.message.bytes of the topic was lowered$`,
      ),
    ),
    remedy: expect.stringContaining(`--entity-name ${topics.current.name} --add-config max.message.bytes=`),
  });
}, 60_000);
