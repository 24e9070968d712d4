import type { Admin, Kafka } from 'kafkajs';
import { ipos } from '../../src/feeds/ipos';
import { kafkaClient } from '../../src/log/kafka/connection/client';
import { readingCluster } from '../../src/log/kafka/connection/cluster';
import { fetchBatches } from '../../src/log/kafka/protocol/fetch';
import { allTopics, feedTopics } from '../../src/log/topics';
import { type Kafka as Cluster, startKafka } from '../../tools/servers/kafka';
import { freePort } from '../../tools/servers/ports';
import { commandLine, commandLineHere } from '../support/cli';
import { createTopics } from '../support/create-topics';
import { askDoctor } from '../support/doctor';
import { kafkaTools } from '../support/kafka-tools';
import { kafkaWorld, plainKafka } from '../support/kafka-world';
import { apiEnv, simulatedApi } from '../support/simulated-api';
import { quietLogger } from '../support/source';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

const cli = commandLine();
const here = commandLineHere();
const folder = tempFolder();
const startMs = 90_000;

/** The doctor's checks of feed ipos in an environment. */
const doctor = (env: Readonly<Record<string, string>>) =>
  askDoctor(here, ['--feeds', 'ipos'], { cwd: folder(), env });

describe('on Kafka', () => {
  const { brokers, prefix, create, env: environment, admin: connected } = kafkaWorld();
  const api = simulatedApi({ ipos: 200 });
  let kafka: Kafka;
  let admin: Admin;
  beforeEach(async () => {
    kafka = kafkaClient(plainKafka(brokers()), 'test', quietLogger());
    admin = await connected();
  });

  const topics = () => feedTopics(ipos, prefix());

  it('all is fine before the first run, and nothing is made', async () => {
    const { code, of } = await doctor(environment());
    expect(code).toBe(0);
    expect(of('brokers')).toMatchObject({ state: 'ok', found: expect.stringContaining('1 reachable') });
    expect(of('compression').found).toBe('gzip, which every client reads by itself');
    expect(of('group')).toMatchObject({ state: 'ok', found: expect.stringMatching(/^nobody is in it/) });
    expect(of('transactions').state).toBe('ok');
    expect(of('topics')).toMatchObject({ state: 'ok', found: expect.stringContaining('0 of 5 exist') });
    expect(of('registry').state).toBe('ok');
    expect(of('schemas').found).toMatch(/^new, the first run registers them: /);
    expect(of('command-topic')).toMatchObject({
      state: 'ok',
      found: expect.stringMatching(/^0 of 1 exist, .* by the first command$/),
    });
    expect(of('command-schema').found).toMatch(/^new, the first command registers them: /);
    const names = await admin.listTopics();
    expect(names.filter((name) => name.startsWith(prefix()))).toStrictEqual([]);
    const { found } = (await doctor(environment())).of('schemas');
    expect(found).toMatch(/^new, /);
  });

  it('it says who must register the codec that is set', async () => {
    const { of } = await doctor({ ...environment(), HIGHWATER_COMPRESSION: 'zstd' });
    expect(of('compression')).toMatchObject({
      state: 'ok',
      found: 'zstd; a consumer with kafkajs must register it: docs/guides/node.md',
    });
  });

  it('it leaves nothing on the topics that any reader is shown, and no group', async () => {
    const all = allTopics(topics());
    await create(
      ...all.map(({ name, partitions, cleanup }) => ({
        topic: name,
        numPartitions: partitions,
        configEntries: [{ name: 'cleanup.policy', value: cleanup }],
      })),
    );
    const { code, of } = await doctor(environment());
    expect(code).toBe(0);
    expect(of('transactions').found).toBe('one was begun over 5 topics and aborted');
    const { groups } = await admin.listGroups();
    expect(groups.filter(({ groupId }) => groupId.includes(prefix()))).toStrictEqual([]);

    // Even a reader of uncommitted records sees nothing: only the end marker of the transaction is there.
    const cluster = readingCluster(kafka);
    await cluster.connect();
    try {
      await cluster.addMultipleTargetTopics(all.map(({ name }) => name));
      let markers = 0;
      for (const { name } of all) {
        const [nodeId = ''] = Object.keys(cluster.findLeaderForPartitions(name, [0]));
        const broker = await cluster.findBroker({ nodeId });
        const { responses } = await fetchBatches(broker, {
          isolationLevel: 0,
          maxWaitTime: 500,
          minBytes: 1,
          maxBytes: 1_000_000,
          topics: [{ topic: name, partitions: [{ partition: 0, fetchOffset: '0', maxBytes: 1_000_000 }] }],
        });
        for (const { batches } of responses.flatMap(({ partitions }) => partitions)) {
          expect(batches.filter(({ isControl }) => !isControl)).toStrictEqual([]);
          markers += batches.length;
        }
      }
      expect(markers).toBeGreaterThan(0);
    } finally {
      await cluster.disconnect();
    }
  });

  it('it does not disturb a publisher', async () => {
    api().marketDay.start(20);
    const env = { ...environment(), ...apiEnv(api()), HIGHWATER_REQUESTS_PER_SECOND: '1000' };
    const publisher = cli(['run', '--feeds', 'ipos', '--poll-interval', '50ms'], { cwd: folder(), env });
    await publisher.sees(/ipos: (first )?snapshot complete/, 'stderr');
    for (let times = 0; times < 3; times++) {
      const { code, of } = await doctor(env);
      expect(of('group').found).toMatch(/^1 instance: \S+ has ipos$/);
      expect(of('topics').found).toBe('5 of 5 exist');
      expect(of('schemas').found).toMatch(/^registered: /);
      expect(code).toBe(0);
    }
    const { of } = await doctor({ ...env, HIGHWATER_PARTITIONS: '4' });
    expect(of('topics').found).toContain(`5 of 5 exist; ${topics().changes.name} keeps its 3 partitions; `);
    const asked = api().requests().length;
    await until(() => api().requests().length > asked + 10);
    // The market moves while it is read: that is no doing of the doctor's.
    const said = publisher.stderr().split('\n');
    const problems = said.filter((line) => /WARN|ERROR/.test(line) && !line.includes('kept changing while'));
    expect(problems).toStrictEqual([]);
    publisher.signal('SIGTERM');
    expect(await publisher.ended()).toEqual({ code: 0, signal: null });
  });

  it('consumers that are in the group of the instances are named, and stay', async () => {
    const topic = topics().changes.name;
    await create({ topic });
    const consumer = kafka.consumer({ groupId: `highwater:${prefix()}owners` });
    try {
      const joins: unknown[] = [];
      consumer.on('consumer.group_join', (event) => joins.push(event));
      await consumer.connect();
      await consumer.subscribe({ topic });
      await consumer.run({ eachMessage: async () => undefined });
      await until(() => joins.length > 0);
      const { code, of } = await doctor(environment());
      expect(code).toBe(1);
      expect(of('group')).toMatchObject({
        state: 'failed',
        code: 'LOG_FAILED',
        found: expect.stringMatching(/of another program are in the group .*owners: test at 127\.0\.0\.1$/),
        do: expect.stringContaining('HIGHWATER_APP_ID'),
      });
      expect(joins).toHaveLength(1);
    } finally {
      await consumer.disconnect();
    }
    expect((await doctor(environment())).of('group').found).toBe('nobody is in it');
  });

  it('a session timeout that the brokers do not allow is named, and no group is made', async () => {
    const { code, of } = await doctor({ ...environment(), KAFKA_SESSION_TIMEOUT: '1h' });
    expect(code).toBe(1);
    expect(of('group')).toMatchObject({
      state: 'failed',
      code: 'CONFIG_INVALID',
      do: expect.stringContaining('group.max.session.timeout.ms'),
    });
    const { groups } = await admin.listGroups();
    expect(groups.filter(({ groupId }) => groupId.includes(prefix()))).toStrictEqual([]);
  });

  it('topics that are kept in a wrong way are named with the command, risky ones too', async () => {
    const { changes, current, transitions, sourceOffset } = topics();
    const make = (topic: string, name: string, value: string) =>
      create({ topic, configEntries: [{ name, value }] });
    await make(changes.name, 'retention.ms', '1000000');
    const risky = await doctor(environment());
    expect(risky.code).toBe(0);
    expect(risky.of('topics')).toMatchObject({
      state: 'warning',
      found: expect.stringContaining(`retention.ms is 1000000 on ${changes.name}`),
      do: expect.stringContaining(`--entity-name ${changes.name} --add-config retention.ms=-1`),
    });
    await make(transitions[0]!.name, 'min.insync.replicas', '2');
    expect((await doctor(environment())).of('topics')).toMatchObject({
      state: 'warning',
      found: expect.stringMatching(/min.insync.replicas is greater than the number of replicas of/),
    });
    const commands = `${prefix()}highwater.commands`;
    await make(commands, 'cleanup.policy', 'compact');
    const deaf = await doctor(environment());
    // Publishing works without.
    expect(deaf.code).toBe(0);
    expect(deaf.of('command-topic')).toMatchObject({
      state: 'warning',
      code: 'LOG_TOPIC_MISMATCH',
      found: expect.stringMatching(/cleanup.policy of .* is compact, .*commands of operators do not reach/),
      do: expect.stringContaining(`--entity-name ${commands} --add-config cleanup.policy=delete`),
    });
    await make(current.name, 'cleanup.policy', 'delete');
    const wrong = await doctor(environment());
    expect(wrong.code).toBe(1);
    expect(wrong.of('topics')).toMatchObject({
      state: 'failed',
      code: 'LOG_TOPIC_MISMATCH',
      do: expect.stringContaining(`--entity-name ${current.name} --add-config cleanup.policy=compact`),
    });
    await create({ topic: sourceOffset.name, numPartitions: 3 });
    const anew = await doctor(environment());
    expect(anew.of('topics').do).toMatch(
      /delete its topic \.current, too[\s\S]*--delete --topic \S+source-offset/,
    );
  });

  it('a registry without the schemas stops a publisher that only looks up', async () => {
    const { code, of } = await doctor({ ...environment(), HIGHWATER_SCHEMA_REGISTRATION: 'lookup' });
    expect(code).toBe(1);
    expect(of('schemas')).toMatchObject({ state: 'failed', code: 'SCHEMA_UNREGISTERED' });
    expect(of('schemas').do).toContain('highwater schemas register');
    expect(of('command-schema')).toMatchObject({ state: 'warning', code: 'SCHEMA_UNREGISTERED' });
  });

  it('dead servers are named, each alone', async () => {
    const closed = await freePort();
    const noRegistry = await doctor({ ...environment(), SCHEMA_REGISTRY_URL: `http://127.0.0.1:${closed}` });
    expect(noRegistry.code).toBe(1);
    expect(noRegistry.of('registry')).toMatchObject({ state: 'failed', code: 'REGISTRY_UNREACHABLE' });
    expect(noRegistry.of('transactions').state).toBe('ok');
    expect(noRegistry.of('command-topic').state).toBe('ok');
    expect(noRegistry.of('command-schema').state).toBe('skipped');

    const noBrokers = await doctor({ ...environment(), KAFKA_BROKERS: `127.0.0.1:${closed}` });
    expect(noBrokers.code).toBe(1);
    expect(noBrokers.of('brokers')).toMatchObject({ state: 'failed', code: 'KAFKA_UNREACHABLE' });
    expect(noBrokers.of('group').state).toBe('skipped');
    expect(noBrokers.of('transactions').state).toBe('skipped');
    expect(noBrokers.of('command-topic').state).toBe('skipped');
    expect(noBrokers.of('registry').state).toBe('ok');
  });
});

describe('on Kafka with permissions', () => {
  let server: Cluster;
  beforeAll(async () => {
    server = await startKafka({ secured: true });
  }, startMs);
  afterAll(() => server?.stop());

  const environment = (password: string) => ({
    KAFKA_BROKERS: server.bootstrap,
    KAFKA_SASL_USERNAME: server.users!.publisher.username,
    KAFKA_SASL_PASSWORD: password,
    SCHEMA_REGISTRY_URL: 'http://127.0.0.1:1',
  });

  it('a refused password is told from brokers that are away, and never said', async () => {
    const { of, said } = await doctor(environment('pass-0815-wrong'));
    expect(of('brokers').state).toBe('ok');
    expect(of('login')).toMatchObject({ state: 'failed', code: 'KAFKA_UNAUTHENTICATED' });
    expect(of('topics').state).toBe('skipped');
    expect(said).not.toContain('pass-0815-wrong');
  });

  it('every missing permission is named until all are there', async () => {
    const asAdmin = await kafkaTools({ folder: folder(), login: server.users!.admin });
    const env = environment(server.users!.publisher.password);
    const seen: string[] = [];
    for (let tries = 0; tries < 6; tries++) {
      const { of } = await doctor(env);
      const red = [of('group'), of('transactions'), of('topics')].filter(({ state }) => state === 'failed');
      if (red.length === 0) break;
      for (const { code, found, do: remedy } of red) {
        expect(code).toBe('KAFKA_FORBIDDEN');
        seen.push(/do not allow (\w+ on (?:the )?(?:consumer )?[a-z]+)/.exec(found)![1]!);
        await asAdmin(/^kafka-acls.*$/m.exec(remedy!)![0]);
      }
    }
    expect(new Set(seen)).toEqual(
      new Set(['READ on consumer group', 'DESCRIBE on topic', 'CREATE on topic', 'WRITE on transactional']),
    );

    // Topics of its own, as the doctor says they may be made: then it looks whether they may be written.
    const login = { mechanism: 'plain', ...server.users!.publisher } as const;
    const cluster = { ...plainKafka(server.bootstrap), sasl: login };
    const admin = kafkaClient(cluster, 'test', quietLogger()).admin();
    await admin.connect();
    const [spec] = allTopics(feedTopics(ipos, ''));
    await createTopics(admin, [{ topic: spec!.name }]);
    await admin.disconnect();
    const unwritable = (await doctor(env)).of('transactions');
    expect(unwritable.found).toContain('do not allow WRITE on topic ipos');
    await asAdmin(/^kafka-acls.*$/m.exec(unwritable.do!)![0]);
    expect((await doctor(env)).of('transactions').state).toBe('ok');
  });
});
