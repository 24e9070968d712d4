import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Admin, Kafka } from 'kafkajs';
import { ipos } from '../../src/feeds/ipos';
import { assertCreatable } from '../../src/log/kafka/admin/topic-creation';
import { roledTopics } from '../../src/log/kafka/admin/topic-rules';
import { prepareSharedTopic, prepareTopics } from '../../src/log/kafka/admin/topic-settings';
import { type KafkaConfig, kafkaClient } from '../../src/log/kafka/connection/client';
import { commandsTopic, feedTopics } from '../../src/log/topics';
import { artefacts } from '../../tools/servers/artefacts';
import { findJava } from '../../tools/servers/java';
import { type Kafka as Cluster, startKafka } from '../../tools/servers/kafka';
import { topicSettings } from '../support/create-topics';
import { failureOf } from '../support/failure';
import { plainKafka } from '../support/kafka-world';
import { quietLogger } from '../support/source';

const signal = new AbortController().signal;

/**
 * Compiles `CreatePolicy.java`, for `startKafka`.
 * @param folder for the jars of a broker that has the policy
 */
async function createPolicy(folder: string) {
  const java = await findJava();
  const { kafka } = await artefacts();
  const [jars, classes] = [path.join(folder, 'jars'), path.join(folder, 'classes')];
  mkdirSync(jars);
  const all = readdirSync(kafka).filter((name) => name.endsWith('.jar'));
  for (const jar of all) symlinkSync(path.join(kafka, jar), path.join(jars, jar));
  const source = path.join(__dirname, '..', 'support', 'CreatePolicy.java');
  const compiler = [
    '-m',
    'jdk.compiler/com.sun.tools.javac.Main',
    '-d',
    classes,
    '-cp',
    all.map((jar) => path.join(kafka, jar)).join(':'),
  ];
  const packer = ['-m', 'jdk.jartool/sun.tools.jar.Main', '-cf', path.join(jars, 'policy.jar')];
  await promisify(execFile)(java, [...compiler, source]);
  await promisify(execFile)(java, [...packer, '-C', classes, '.']);
  const properties = { 'create.topic.policy.class.name': 'highwater.CreatePolicy' };
  return { jars: () => jars, properties };
}

describe('a cluster that refuses', () => {
  let server: Cluster | undefined;
  let cluster: KafkaConfig;
  let kafka: Kafka;
  let admin: Admin;
  const folder = mkdtempSync(path.join(tmpdir(), 'highwater-'));
  beforeAll(async () => {
    const withPolicy = await createPolicy(folder);
    server = await startKafka(withPolicy);
    cluster = plainKafka(server.bootstrap);
    kafka = kafkaClient(cluster, 'test', quietLogger());
    admin = kafka.admin();
    await admin.connect();
  }, 120_000);
  afterAll(async () => {
    await admin?.disconnect();
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const warnings: string[] = [];
  const logger = { ...quietLogger(), warn: (line: string) => void warnings.push(line) };
  beforeEach(() => warnings.splice(0));

  function prepared(prefix: string) {
    const deps = { kafka, cluster, signal, logger, warned: new Set<string>() };
    return prepareTopics(feedTopics(ipos, prefix), deps);
  }

  /** What a publisher says of settings that were left out; `doctor` says the same before it. */
  async function leftOut(prefix: string): Promise<string> {
    const wanted = roledTopics(feedTopics(ipos, prefix));
    const foreseen = await assertCreatable('feed ipos', wanted, { kafka, cluster, signal });
    await prepared(prefix);
    expect(warnings.filter((line) => line.startsWith('topics are created without'))).toStrictEqual([
      foreseen,
    ]);
    return foreseen!;
  }

  const settingsOf = (name: string) => topicSettings(admin, name);

  it('small segments gets larger ones, and everything else is asked for as before', async () => {
    expect(await leftOut('least.')).toBe(
      'topics are created without the settings that the cluster refuses: least.ipos.source-offset ' +
        'without segment.bytes=4194304 (it has 67108864), so each start may read more (POLICY_VIOLATION: Config ' +
        "property 'segment.bytes' with value '4194304' is below 52428800)",
    );
    expect(await settingsOf(feedTopics(ipos, 'least.').sourceOffset.name)).toMatchObject({
      'cleanup.policy': 'compact',
      'segment.bytes': '67108864',
      'segment.ms': '3600000',
      'min.cleanable.dirty.ratio': '0.1',
    });
  });

  it('a group of settings without naming them is asked for what the topics need', async () => {
    const said = await leftOut('closed.');
    const reason = '(POLICY_VIOLATION: these settings belong to the provider)';
    const { name } = feedTopics(ipos, 'closed.').changes;
    expect(said).toContain(
      `: ${name}, ${name}.deal-status without retention.bytes, message.timestamp.type, so the cluster may limit`,
    );
    expect(said.split(reason)).toHaveLength(5);
    const { changes, current, sourceOffset } = feedTopics(ipos, 'closed.');
    const kept = { 'cleanup.policy': 'delete', 'retention.ms': '-1' };
    expect(await settingsOf(changes.name)).toMatchObject(kept);
    for (const { name } of [current, sourceOffset])
      expect(await settingsOf(name)).toMatchObject({ 'cleanup.policy': 'compact' });
  });

  it('a setting and lists all that it allows keeps those that it allows', async () => {
    const { sourceOffset } = feedTopics(ipos, 'listing.');
    expect(await leftOut('listing.')).toContain(
      `${sourceOffset.name} without segment.bytes, segment.ms, so each start may read more (POLICY_VIOLATION: can't`,
    );
    expect(await settingsOf(sourceOffset.name)).toMatchObject({ 'min.cleanable.dirty.ratio': '0.1' });
  });

  it('to keep dead letters both by key and by age has them kept by key', async () => {
    const { deadLetters } = feedTopics(ipos, 'either.');
    expect(await leftOut('either.')).toContain('without cleanup.policy=compact,delete (it has compact)');
    const kept = { 'cleanup.policy': 'compact', 'retention.ms': '7776000000' };
    expect(await settingsOf(deadLetters.name)).toMatchObject(kept);
  });

  it.each(['least', 'closed'])('has a topic of commands (%s)', async (kind) => {
    const spec = commandsTopic('highwater', `${kind}.`);
    const left = await assertCreatable('commands', [{ role: 'shared', spec }], { kafka, cluster, signal });
    if (kind === 'closed')
      expect(left).toContain('message.timestamp.type, retention.ms, so its records may carry');
    else expect(left).toBeNull();
    await prepareSharedTopic(spec, { kafka, cluster, signal });
    expect(await settingsOf(spec.name)).toMatchObject({ 'segment.bytes': '1073741824' });
  });

  it('what a topic needs shows its own reason, and the remedy is not what it refused', async () => {
    const wanted = roledTopics(feedTopics(ipos, 'brief.'));
    const deps = { kafka, cluster, signal };
    const trials = [() => prepared('brief.'), () => assertCreatable('feed ipos', wanted, deps)];
    for (const trial of trials) {
      const error = await failureOf(trial());
      expect(error.message).toContain('POLICY_VIOLATION: retention.ms must be at most 604800000');
      expect(error.remedy).toContain('by its own means');
      expect(error.remedy).not.toContain('kafka-topics.sh');
    }
  });

  it('another number of copies than it can have names the setting and the number of brokers', async () => {
    const error = await failureOf(prepared('copies.'));
    expect(error.message).toContain('Topic replication factor must be 3');
    expect(error.remedy).toContain(`The cluster has 1 broker`);
    expect(error.remedy).toContain('default.replication.factor');
  });
});

describe('a cluster of three whose default is copies for four', () => {
  let server: Cluster | undefined;
  beforeAll(async () => {
    server = await startKafka({ brokers: 3, properties: { 'default.replication.factor': 4 } });
  }, 120_000);
  afterAll(() => server?.stop());

  it('is asked for three', async () => {
    const cluster = plainKafka(server!.bootstrap);
    const kafka = kafkaClient(cluster, 'test', quietLogger());
    const deps = { kafka, cluster, signal };
    const topics = feedTopics(ipos, 'four.');
    await assertCreatable('feed ipos', roledTopics(topics), deps);
    await prepareTopics(topics, { ...deps, logger: quietLogger(), warned: new Set() });
    const commands = commandsTopic('highwater', 'four.');
    await prepareSharedTopic(commands, deps);
    const admin = kafka.admin();
    await admin.connect();
    try {
      const names = [...roledTopics(topics).map(({ spec }) => spec.name), commands.name];
      const found = await admin.fetchTopicMetadata({ topics: names });
      const copies = found.topics.flatMap(({ partitions }) =>
        partitions.map(({ replicas }) => replicas.length),
      );
      expect(new Set(copies)).toStrictEqual(new Set([3]));
    } finally {
      await admin.disconnect();
    }
  }, 60_000);
});
