import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import {
  AclOperationTypes,
  AclPermissionTypes,
  AclResourceTypes,
  Kafka,
  logLevel,
  ResourcePatternTypes,
} from 'kafkajs';
import type { Broker, Kafka as Cluster, User } from '../../tools/servers/kafka';
import { startKafka } from '../../tools/servers/kafka';
import { type Registry, startRegistry } from '../../tools/servers/registry';
import { root } from '../support/build';
import { createTopics } from '../support/create-topics';
import { sharedServers, uniquePrefix } from '../support/servers';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

const folder = tempFolder();
// More than a start takes on a machine that does much else; a failed one says why before.
const START_MS = 120_000;

const client = (brokers: string, user?: User) =>
  new Kafka({
    brokers: brokers.split(','),
    ...(user && { sasl: { mechanism: 'plain', ...user } }),
    connectionTimeout: 1_000,
    requestTimeout: 3_000,
    retry: { initialRetryTime: 50, maxRetryTime: 500, retries: 40 },
    logLevel: logLevel.NOTHING,
  });

async function createTopic(brokers: string, topic: string, user?: User): Promise<void> {
  const admin = client(brokers, user).admin();
  await admin.connect();
  await createTopics(admin, [{ topic }]);
  await admin.disconnect();
}

/** Writes the values in a transaction of its own. */
async function write(
  brokers: string,
  topic: string,
  values: readonly string[],
  end: 'commit' | 'abort' = 'commit',
) {
  const producer = client(brokers).producer({
    transactionalId: topic,
    maxInFlightRequests: 1,
    idempotent: true,
  });
  await producer.connect();
  try {
    const transaction = await producer.transaction();
    await transaction.send({ topic, messages: values.map((value) => ({ value })) });
    await transaction[end]();
  } finally {
    await producer.disconnect();
  }
}

/** Records that a committed reader finds, up to and with the value. */
async function readUpTo(brokers: string, topic: string, last: string): Promise<string[]> {
  const consumer = client(brokers).consumer({ groupId: `${topic}-${Math.random()}`, readUncommitted: false });
  const values: string[] = [];
  try {
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({ eachMessage: async ({ message }) => void values.push(message.value!.toString()) });
    await until(() => values.includes(last));
  } finally {
    await consumer.disconnect();
  }
  return values;
}

/** Whether it was done without an error. */
function holds(doing: Promise<unknown>): Promise<boolean> {
  return doing.then(
    () => true,
    () => false,
  );
}

/** Whether a process is there and not just waiting to be reaped. */
function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const stat = `/proc/${pid}/stat`;
  return !existsSync(stat) || !/\) Z /.test(readFileSync(stat, 'utf8'));
}

describe('the shared servers', () => {
  it('are the same for whoever asks, and real', async () => {
    const asked = await Promise.all([sharedServers(), sharedServers()]);
    expect(asked[0]).toEqual(asked[1]);
    const { brokers, registryUrl } = asked[0]!;
    const topic = `${uniquePrefix()}t`;
    await createTopic(brokers, topic);
    await write(brokers, topic, ['given up'], 'abort');
    await write(brokers, topic, ['kept', 'last']);
    expect(await readUpTo(brokers, topic, 'last')).toEqual(['kept', 'last']);
    expect((await fetch(`${registryUrl}/subjects`)).status).toBe(200);
  });

  it('make no topic that nobody asked for', async () => {
    const { brokers } = await sharedServers();
    const topic = `${uniquePrefix()}t`;
    const admin = client(brokers).admin();
    await admin.connect();
    try {
      await expect(admin.fetchTopicMetadata({ topics: [topic] })).rejects.toThrow(/does not host this topic/);
      expect(await admin.listTopics()).not.toContain(topic);
    } finally {
      await admin.disconnect();
    }
  });
});

describe('a broker of its own', () => {
  let kafka: Cluster;
  let broker: Broker;
  beforeAll(async () => {
    kafka = await startKafka();
    broker = kafka.brokers[0]!;
  }, START_MS);
  afterAll(() => kafka?.stop());

  it('has its data after kill -9 and restart', async () => {
    await createTopic(kafka.bootstrap, 'kept');
    await write(kafka.bootstrap, 'kept', ['before']);
    const { pid } = broker;
    await broker.kill();
    expect(runs(pid)).toBe(false);
    await broker.restart();
    expect(broker.pid).not.toBe(pid);
    await write(kafka.bootstrap, 'kept', ['after']);
    expect(await readUpTo(kafka.bootstrap, 'kept', 'after')).toEqual(['before', 'after']);
  });

  it('answers nothing while frozen, and goes on where it was', async () => {
    await createTopic(kafka.bootstrap, 'frozen');
    broker.freeze();
    let answered = false;
    const writing = write(kafka.bootstrap, 'frozen', ['value']).then(() => {
      answered = true;
    });
    const quick = new Kafka({
      brokers: [broker.address],
      requestTimeout: 500,
      connectionTimeout: 500,
      retry: { retries: 0 },
      logLevel: logLevel.NOTHING,
    }).admin();
    await expect(quick.connect().then(() => quick.listTopics())).rejects.toThrow(/timed? ?out|timeout/i);
    await quick.disconnect();
    expect(answered).toBe(false);
    broker.thaw();
    await writing;
    expect(await readUpTo(kafka.bootstrap, 'frozen', 'value')).toEqual(['value']);
  });
});

describe('three brokers', () => {
  let kafka: Cluster;
  beforeAll(async () => {
    kafka = await startKafka({ brokers: 3 });
  }, START_MS);
  afterAll(() => kafka?.stop());

  it('keep three replicas, and go on without the leader', async () => {
    await createTopic(kafka.bootstrap, 't');
    const admin = client(kafka.bootstrap).admin();
    await admin.connect();
    const allReplicas = async () => {
      const { topics } = await admin.fetchTopicMetadata({ topics: ['t', '__transaction_state'] });
      return topics.every(({ partitions }) => partitions.every(({ isr }) => isr.length === 3));
    };
    const { topics } = await admin.fetchTopicMetadata({ topics: ['t'] });
    const leader = kafka.brokers.find(({ id }) => id === topics[0]!.partitions[0]!.leader)!;
    await write(kafka.bootstrap, 't', ['with it']);
    await leader.kill();
    // kafkajs's error for the first refused connection differs. The test only checks that the cluster takes writes.
    await until(() => holds(write(kafka.bootstrap, 't', ['without it'])));
    await leader.restart();
    await until(() => allReplicas().catch(() => false));
    await write(kafka.bootstrap, 't', ['with it again']);
    await admin.disconnect();
    const read = await readUpTo(kafka.bootstrap, 't', 'with it again');
    expect([...new Set(read)]).toEqual(['with it', 'without it', 'with it again']);
  });
});

describe('a secured broker', () => {
  let kafka: Cluster;
  beforeAll(async () => {
    kafka = await startKafka({ secured: true });
  }, START_MS);
  afterAll(() => kafka?.stop());

  it('lets the publisher do what it was allowed to, and nothing else', async () => {
    const { admin: adminUser, publisher } = kafka.users!;
    for (const topic of ['allowed', 'denied']) await createTopic(kafka.bootstrap, topic, adminUser);
    const admin = client(kafka.bootstrap, adminUser).admin();
    await admin.connect();
    await admin.createAcls({
      acl: [
        {
          resourceType: AclResourceTypes.TOPIC,
          resourceName: 'allowed',
          resourcePatternType: ResourcePatternTypes.LITERAL,
          principal: 'User:publisher',
          host: '*',
          operation: AclOperationTypes.WRITE,
          permissionType: AclPermissionTypes.ALLOW,
        },
      ],
    });
    await admin.disconnect();
    const producer = client(kafka.bootstrap, publisher).producer({ retry: { retries: 0 } });
    await producer.connect();
    try {
      const send = (topic: string) => producer.send({ topic, messages: [{ value: 'value' }] });
      await until(() => holds(send('allowed')));
      await expect(send('denied')).rejects.toThrow(/not authorized/i);
    } finally {
      await producer.disconnect();
    }
  });

  it('refuses a wrong password', async () => {
    const wrong = client(kafka.bootstrap, { username: 'publisher', password: 'wrong' }).admin();
    await expect(wrong.connect()).rejects.toThrow(/authentication failed/i);
    await wrong.disconnect();
  });
});

describe('a registry of its own', () => {
  let registry: Registry;
  beforeAll(async () => {
    registry = await startRegistry();
  }, START_MS);
  afterAll(() => registry?.stop());

  it('keeps schemas, and accepts connections without an answer while frozen', async () => {
    const subjects = `${registry.url}/subjects`;
    const body = JSON.stringify({ schema: '"string"' });
    const headers = { 'content-type': 'application/json' };
    const { id } = (await (
      await fetch(`${subjects}/s/versions`, { method: 'POST', body, headers })
    ).json()) as {
      id: number;
    };
    registry.freeze();
    await expect(fetch(subjects, { signal: AbortSignal.timeout(300) })).rejects.toThrow(/timeout/);
    registry.thaw();
    expect(await (await fetch(`${registry.url}/schemas/ids/${id}`)).json()).toMatchObject({
      schema: '"string"',
    });
    await registry.kill();
    await expect(fetch(subjects)).rejects.toThrow('fetch failed');
  });
});

it('servers and their data are gone when their parent is killed, frozen ones too', async () => {
  const tools = (name: string) => JSON.stringify(path.join(root, 'tools', 'servers', name));
  const script = `
    const { startKafka } = require(${tools('kafka.ts')});
    const { startRegistry } = require(${tools('registry.ts')});
    (async () => {
      const [kafka, registry] = [await startKafka(), await startRegistry()];
      kafka.brokers[0].freeze();
      console.log(JSON.stringify([kafka.brokers[0].pid, registry.pid, kafka.folder, registry.folder]));
      setInterval(() => {}, 1000);
    })();`;
  const parent = spawn(process.execPath, ['--import', 'tsx', '-e', script], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    let said = '';
    parent.stdout.setEncoding('utf8').on('data', (text) => {
      said += text;
    });
    await until(() => said.includes('\n'), START_MS);
    const [broker, registry, ...folders] = JSON.parse(said) as [number, number, string, string];
    expect([broker, registry].map(runs)).toEqual([true, true]);
    expect(folders.map((folder) => existsSync(folder))).toEqual([true, true]);
    parent.kill('SIGKILL');
    await until(
      () => ![broker, registry].some(runs) && !folders.some((folder) => existsSync(folder)),
      10_000,
    );
  } finally {
    parent.kill('SIGKILL');
  }
});

describe('npm run kafka', () => {
  it('runs on the usual ports or the next that are free, and leaves nothing behind at Ctrl-C', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as AddressInfo;
    const tmp = folder();
    const main = path.join(root, 'tools', 'servers', 'main.ts');
    const args = ['--import', 'tsx', main, '--port', String(port), '--registry-port', String(port)];
    const child = spawn(process.execPath, args, {
      cwd: root,
      env: { ...process.env, TMPDIR: tmp },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      let said = '';
      child.stdout.setEncoding('utf8').on('data', (text) => {
        said += text;
      });
      await until(() => said.includes('Ctrl-C'), START_MS);
      const [, brokers = ''] = /^export KAFKA_BROKERS=(.*)$/m.exec(said)!;
      const [, registryUrl = ''] = /^export SCHEMA_REGISTRY_URL=(.*)$/m.exec(said)!;
      expect(Number(brokers.split(':')[1])).toBeGreaterThan(port);
      await createTopic(brokers, 't');
      await write(brokers, 't', ['value']);
      expect((await fetch(`${registryUrl}/subjects`)).status).toBe(200);
      const exited = once(child, 'exit');
      child.kill('SIGINT');
      expect(await exited).toEqual([0, null]);
      await expect(fetch(`${registryUrl}/subjects`)).rejects.toThrow('fetch failed');
      // tsx keeps its compiled files.
      expect(readdirSync(tmp).filter((name) => name.startsWith('highwater'))).toStrictEqual([]);
    } finally {
      child.kill('SIGKILL');
      taken.close();
    }
  });
});
