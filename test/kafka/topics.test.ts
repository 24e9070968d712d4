import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { HighwaterError } from '../../src/errors';
import { ipos } from '../../src/feeds/ipos';
import type { FeedTopics } from '../../src/log/commit-log';
import { assertWritable } from '../../src/log/kafka/admin/examine';
import { inspectTopics, prepareTopics } from '../../src/log/kafka/admin/topic-settings';
import { type KafkaConfig, kafkaClient } from '../../src/log/kafka/connection/client';
import { feedTopics } from '../../src/log/topics';
import { type Kafka as Cluster, startKafka } from '../../tools/servers/kafka';
import { topicSettings } from '../support/create-topics';
import { failureOf } from '../support/failure';
import { kafkaTools } from '../support/kafka-tools';
import { kafkaWorld, plainKafka } from '../support/kafka-world';
import { uniquePrefix } from '../support/servers';
import { quietLogger } from '../support/source';
import { until } from '../support/until';

const signal = new AbortController().signal;
const startMs = 90_000;
const dayMs = 86_400_000;

describe('the topics of a feed', () => {
  const { brokers, create, admin } = kafkaWorld();
  let cluster: KafkaConfig;
  beforeAll(() => {
    cluster = plainKafka(brokers());
  });

  function deps() {
    const kafka = kafkaClient(cluster, 'test', quietLogger());
    return { kafka, cluster, signal, logger: noting(), warned: new Set<string>() };
  }

  const settingsOf = async (name: string) => topicSettings(await admin(), name);

  function make(name: string, settings: Record<string, string>, numPartitions = 1): Promise<void> {
    const configEntries = Object.entries(settings).map(([key, value]) => ({ name: key, value }));
    return create({ topic: name, numPartitions, configEntries });
  }

  it('are made so that no event and no state is ever deleted by age', async () => {
    const topics = feedTopics(ipos, uniquePrefix());
    const made = await prepareTopics(topics, deps());
    const { changes, current, sourceOffset, deadLetters, transitions } = topics;
    expect([...made].map(([name, { partitions }]) => [name, partitions])).toEqual([
      [changes.name, 3],
      [transitions[0]!.name, 3],
      [current.name, 3],
      [deadLetters.name, 1],
      [sourceOffset.name, 1],
    ]);
    const forever = { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'retention.bytes': '-1' };
    expect(await settingsOf(changes.name)).toMatchObject(forever);
    expect(await settingsOf(transitions[0]!.name)).toMatchObject(forever);
    expect(await settingsOf(current.name)).toMatchObject({ 'cleanup.policy': 'compact' });
    expect(await settingsOf(sourceOffset.name)).toMatchObject({
      'cleanup.policy': 'compact',
      'segment.ms': '3600000',
    });
    expect(await settingsOf(deadLetters.name)).toMatchObject({
      'cleanup.policy': 'compact,delete',
      'retention.ms': String(90 * dayMs),
    });
  });

  it('are made once, by however many instances at the same time', async () => {
    const topics = feedTopics(ipos, uniquePrefix());
    const all = await Promise.all(Array.from({ length: 4 }, () => prepareTopics(topics, deps())));
    expect(all[0]!.size).toBeGreaterThan(0);
    for (const one of all) expect(one).toEqual(all[0]);
  });

  it('stay as they are when they exist, with as many partitions as they have', async () => {
    const topics = feedTopics(ipos, uniquePrefix());
    await make(topics.changes.name, { 'retention.ms': '-1', 'max.message.bytes': '50000' }, 7);
    const made = await prepareTopics(topics, deps());
    const { partitions, maxRecordBytes } = made.get(topics.changes.name)!;
    expect(partitions).toBe(7);
    expect(maxRecordBytes).toBeGreaterThan(48_000);
    expect(maxRecordBytes).toBeLessThan(50_000);
  });

  it('have the partitions and replicas that the settings say, and too many replicas are refused by name', async () => {
    const topics = feedTopics(ipos, uniquePrefix(), 5);
    const { current, changes, sourceOffset } = topics;
    const made = await prepareTopics(topics, { ...deps(), cluster: { ...cluster, replicas: 1 } });
    const count = ({ name }: { readonly name: string }) => made.get(name)!.partitions;
    expect([changes, current, sourceOffset].map(count)).toEqual([5, 5, 1]);
    // The brokers' default would do for the same topics.
    const others = feedTopics(ipos, uniquePrefix());
    const error = await failureOf(prepareTopics(others, { ...deps(), cluster: { ...cluster, replicas: 4 } }));
    expect(error.code).toBe('LOG_FAILED');
    expect(error.message).toContain('INVALID_REPLICATION_FACTOR');
    expect(error.remedy).toMatch(/HIGHWATER_REPLICAS, which is 4/);
  });

  it('with settings that would lose events or state are refused all at once, with commands that fix them', async () => {
    const topics = feedTopics(ipos, uniquePrefix());
    const { changes, current, sourceOffset, deadLetters } = topics;
    await make(changes.name, { 'cleanup.policy': 'compact' });
    await make(current.name, { 'cleanup.policy': 'compact,delete' });
    await make(sourceOffset.name, { 'cleanup.policy': 'delete' }, 2);
    await make(deadLetters.name, { 'cleanup.policy': 'delete' });
    const error = await failureOf(prepareTopics(topics, deps()));
    expect(error.code).toBe('LOG_TOPIC_MISMATCH');
    expect(error.message).toContain(`cleanup.policy of ${changes.name} is compact, expected delete`);
    expect(error.message).toContain(`cleanup.policy of ${current.name} is compact,delete, expected compact`);
    expect(error.message).toContain(`cleanup.policy of ${sourceOffset.name} is delete, expected compact`);
    expect(error.message).toContain(
      `cleanup.policy of ${deadLetters.name} is delete, expected compact,delete`,
    );

    expect(error.message).toContain(`partitions of ${sourceOffset.name} is 2, expected 1`);

    // Also as one line, as in a log.
    const [commands = ''] = /kafka-.*$/.exec(error.remedy.replaceAll('\n', ' '))!;
    expect(commands.match(/kafka-[a-z]+\.sh/g)).toHaveLength(4);
    await inShell(commands);
    // A broker may show a topic that the controller has deleted for a while. It would not be made anew.
    await until(async () => !(await (await admin()).listTopics()).includes(sourceOffset.name));
    const made = await prepareTopics(topics, deps());
    expect(made.size).toBe(5);
  });

  it('are refused when one name is meant for two uses', async () => {
    const topics = feedTopics({ ...ipos, topic: 'ipos.current' }, uniquePrefix());
    const error = await failureOf(prepareTopics(topics, deps()));
    expect(error.code).toBe('LOG_TOPIC_MISMATCH');
    expect(error.message).toContain(topics.current.name);
    expect(await inspectTopics(topics, deps())).toMatchObject([...Array(5)].map(() => ({ exists: null })));
  });

  it('with settings that somebody may have chosen cause one warning, with the command', async () => {
    const topics = feedTopics(ipos, uniquePrefix());
    const transition = topics.transitions[0]!;
    const stamped = {
      'message.timestamp.type': 'LogAppendTime',
      'retention.ms': '604800000',
      // Of no effect here.
      'message.timestamp.after.max.ms': '1000',
    };
    await make(topics.changes.name, stamped);
    await make(transition.name, { 'retention.ms': '604800000', 'unclean.leader.election.enable': 'true' });
    const limits = { 'message.timestamp.before.max.ms': '60000', 'message.timestamp.after.max.ms': '60000' };
    await make(topics.sourceOffset.name, { 'cleanup.policy': 'compact', ...limits });
    const given = deps();
    await prepareTopics(topics, given);
    const { logger } = given;
    expect(logger.warnings).toHaveLength(6);
    for (const setting of ['message.timestamp.type', 'unclean.leader.election.enable', 'segment.bytes'])
      expect(logger.warnings.filter(([line]) => line.startsWith(setting))).toHaveLength(1);
    for (const side of ['before', 'after'])
      expect(logger.warnings.map(([line]) => line)).toContain(
        `message.timestamp.${side}.max.ms is 60000 on ${topics.sourceOffset.name}, recommended 3600000: ` +
          "records are refused if this machine's clock is further from the brokers'",
      );
    const [line, command] = logger.warnings.find(([one]) => one.startsWith('retention.ms'))!;
    expect(line).toContain(`on ${topics.changes.name}, ${transition.name}, recommended -1`);

    await prepareTopics(topics, given);
    expect(logger.warnings).toHaveLength(6);
    await inShell(command);
    expect(await settingsOf(transition.name)).toMatchObject({ 'retention.ms': '-1' });
    expect(await settingsOf(topics.changes.name)).toMatchObject({ 'retention.ms': '-1' });
  });

  it('are only looked at by an inspection', async () => {
    const topics = feedTopics(ipos, uniquePrefix());
    await make(topics.current.name, { 'cleanup.policy': 'delete' });
    const reports = await inspectTopics(topics, deps());
    expect(reports.filter(({ exists }) => exists !== null).map(({ spec }) => spec.name)).toEqual([
      topics.current.name,
    ]);
    const wrong = reports.flatMap(({ verdict }) => verdict.wrong);
    expect(wrong).toMatchObject([{ topic: topics.current.name, found: 'delete', wanted: 'compact' }]);
    expect(await (await admin()).listTopics()).not.toContain(topics.changes.name);
  });

  it('that do not appear are given up with the signal', async () => {
    const given = new AbortController();
    const preparing = prepareTopics(feedTopics(ipos, uniquePrefix()), { ...deps(), signal: given.signal });
    given.abort(new Error('the end'));
    await expect(preparing).rejects.toThrow('the end');
  });
});

describe('permissions', () => {
  let server: Cluster;
  let topics: FeedTopics;
  let cluster: KafkaConfig;
  let asAdmin: (lines: string) => Promise<string>;
  let folder = '';
  beforeAll(async () => {
    server = await startKafka({ secured: true });
    folder = mkdtempSync(path.join(tmpdir(), 'highwater-'));
    asAdmin = await kafkaTools({ folder, login: server.users!.admin });
    const sasl = { mechanism: 'plain' as const, ...server.users!.publisher };
    cluster = { brokers: server.bootstrap.split(','), ssl: null, sasl, compression: 'none' };
  }, startMs);
  afterAll(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    topics = feedTopics(ipos, uniquePrefix());
  });

  function prepared(logger = noting()) {
    const kafka = kafkaClient(cluster, 'test', quietLogger());
    return prepareTopics(topics, { kafka, cluster, signal, logger, warned: new Set() });
  }

  /** The command of a refusal. */
  function command(error: HighwaterError): string {
    return /^kafka-.*$/m.exec(error.remedy)![0];
  }

  const acls = (change: string, operations: string, names: readonly string[]) =>
    asAdmin(
      `kafka-acls.sh --bootstrap-server ${cluster.brokers[0]} --command-config client.properties ${change} ` +
        `--allow-principal User:publisher ${operations} ${names.map((name) => `--topic ${name}`).join(' ')}`,
    );
  const allow = (operations: string, of = names()) => acls('--add', operations, of);
  const refuse = (operation: string, of = names()) => acls('--remove --force', operation, of);
  const names = () =>
    [topics.changes, ...topics.transitions, topics.current, topics.deadLetters, topics.sourceOffset].map(
      ({ name }) => name,
    );

  it('to create are not needed for topics that exist', async () => {
    await allow('--operation Create --operation Write');
    await prepared();
    await refuse('--operation Create');
    expect((await prepared()).size).toBe(5);
  });

  it('to see settings are not needed: the log goes on, says so, and counts with the default', async () => {
    await allow('--operation Create --operation Write');
    const logger = noting();
    const made = await prepared(logger);
    expect(made.get(topics.changes.name)!.maxRecordBytes).toBeGreaterThan(1_000_000);
    expect(logger.warnings).toHaveLength(1);
    const [line, remedy] = logger.warnings[0]!;
    expect(line).toContain('DESCRIBE_CONFIGS');
    await asAdmin(/^kafka-.*$/m.exec(remedy)![0]);
    const after = noting();
    await prepared(after);
    expect(after.warnings).toStrictEqual([]);
  });

  it('to write are checked for each topic, without writing a record', async () => {
    await allow('--operation Create --operation Write');
    await prepared();
    await refuse('--operation Write', [topics.current.name]);
    await allow('--operation Describe', [topics.current.name]);
    const kafka = kafkaClient(cluster, 'test', quietLogger());
    const transactionalId = `test.${topics.changes.name}`;
    const check = () => assertWritable('checking', { kafka, transactionalId, topics: names(), cluster });

    const ofId = await failureOf(check());
    expect(ofId.message).toContain(`do not allow WRITE on transactional id ${transactionalId}`);
    await asAdmin(command(ofId));
    const ofTopic = await failureOf(check());
    expect(ofTopic.message).toBe(`checking: the brokers do not allow WRITE on topic ${topics.current.name}`);
    await asAdmin(command(ofTopic));
    await check();

    const admin = kafka.admin();
    await admin.connect();
    try {
      // Markers take an offset; of a record there is nothing.
      const [{ high } = { high: '' }] = await admin.fetchTopicOffsets(topics.sourceOffset.name);
      expect(Number(high)).toBeLessThanOrEqual(3);
    } finally {
      await admin.disconnect();
    }
  });
});

/** Lines as a person would type them. */
async function inShell(lines: string): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'highwater-'));
  try {
    await (await kafkaTools({ folder }))(lines);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Keeps each warning with its remedy. */
function noting() {
  const warnings: [string, string][] = [];
  const warn = (line: string, facts: Readonly<Record<string, unknown>> = {}) =>
    void warnings.push([line, String(facts.do)]);
  return { ...quietLogger(), warn, warnings };
}
