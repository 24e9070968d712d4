import { ConfigResourceTypes } from 'kafkajs';
import { confluentRegistry } from '../../src/avro/registry/confluent-registry';
import { ipos } from '../../src/feeds/ipos';
import type { FeedTopics } from '../../src/log/commit-log';
import { feedTopics } from '../../src/log/topics';
import { type ChangeWriter, changeWriter } from '../support/change-writer';
import { endsWithTest } from '../support/ends';
import { failureOf } from '../support/failure';
import { kafkaWorld } from '../support/kafka-world';
import { quietLogger } from '../support/source';
import { DEADLINE_MS, until } from '../support/until';

/** Settings of topics that somebody changes while their feed is published. */

const kafka = kafkaWorld();
let topics: FeedTopics;
beforeEach(() => {
  topics = feedTopics(ipos, kafka.prefix());
});

const log = () => kafka.log({ limits: { settingsMs: 50 } });

async function publisher(): Promise<ChangeWriter> {
  const config = { url: kafka.registryUrl(), auth: null, registration: 'register' } as const;
  const registry = confluentRegistry(config, { logger: quietLogger() });
  const writer = await changeWriter({ commitLog: log(), registry }, kafka.prefix());
  endsWithTest(() => writer.close());
  return writer;
}

async function change(topic: string, name: string, value: string): Promise<void> {
  const configEntries = [{ name, value }];
  const resources = [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries }];
  await (await kafka.admin()).alterConfigs({ validateOnly: false, resources });
}

async function addPartition({ name }: { readonly name: string }): Promise<void> {
  await (await kafka.admin()).createPartitions({ topicPartitions: [{ topic: name, count: 2 }] });
}

it.each([
  [
    'images that are deleted by their age',
    'cleanup.policy of \\S+\\.current is delete, expected compact',
    () => change(topics.current.name, 'cleanup.policy', 'delete'),
  ],
  [
    'a source offset that is deleted by its age',
    'cleanup.policy of \\S+\\.source-offset is delete, expected compact',
    () => change(topics.sourceOffset.name, 'cleanup.policy', 'delete'),
  ],
  [
    'events that are compacted',
    'cleanup.policy of \\S+ipos is compact, expected delete',
    () => change(topics.changes.name, 'cleanup.policy', 'compact'),
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
  const limit = async (bytes: number) => {
    const policies = { [topics.current.name]: 'compact', [topics.deadLetters.name]: 'compact,delete' };
    const admin = await kafka.admin();
    const resources = all.map(({ name }) => ({
      type: ConfigResourceTypes.TOPIC,
      name,
      configEntries: [
        { name: 'cleanup.policy', value: policies[name] ?? 'delete' },
        { name: 'max.message.bytes', value: String(bytes) },
      ],
    }));
    await admin.alterConfigs({ validateOnly: false, resources });
  };
  expect(session.maxRecordBytes).toBeLessThan(1_048_588);
  await limit(3_000_000);
  await until(() => session.maxRecordBytes > 2_900_000);
  await limit(50_000);
  await until(() => session.maxRecordBytes < 50_000);
  await session.release();
}, 60_000);
