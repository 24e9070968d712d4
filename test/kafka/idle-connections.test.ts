import path from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
import { assertReadable } from '../../src/log/kafka/admin/examine';
import { readingCluster } from '../../src/log/kafka/connection/cluster';
import { type Simulator, startSimulator } from '../../src/simulator/simulator';
import { build } from '../support/build';
import { createTopics } from '../support/create-topics';
import { type SharedServers, sharedServers, uniquePrefix } from '../support/servers';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';
import { rests, startWatched, type WatchedProcess } from '../support/watched-process';

const folder = tempFolder();
const running: WatchedProcess[] = [];
let servers: SharedServers;
let dist: string;
let simulator: Simulator;
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  [servers, dist] = await Promise.all([sharedServers(), build()]);
});
beforeEach(async () => {
  simulator = await startSimulator({ records: { insights: 20, analysts: 20, ipos: 20 } });
  env = {
    KAFKA_BROKERS: servers.brokers,
    SCHEMA_REGISTRY_URL: servers.registryUrl,
    HIGHWATER_TOPIC_PREFIX: uniquePrefix(),
    HIGHWATER_API_URL: simulator.url,
    HIGHWATER_API_TOKEN: simulator.token,
    HIGHWATER_POLL_INTERVAL: '1h',
    CONSUMER_GROUP: uniquePrefix(),
  };
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((one) => one.stop()));
  await simulator.stop();
});

function start(...args: string[]): WatchedProcess {
  const started = startWatched(args, { cwd: folder(), env });
  running.push(started);
  return started;
}

const command = (...args: string[]) => start(path.join(dist, 'cli', 'main.js'), ...args);

async function publisher(): Promise<WatchedProcess> {
  const started = command('run');
  const snapshots = () => started.stderr().split('snapshot complete').length - 1;
  await until(() => snapshots() === 3);
  return started;
}

it('a publisher, a tail and a consumer that wait set no timer into the past, and hardly any at all', async () => {
  const programs = [
    await publisher(),
    command('tail', 'ipos', '--from-beginning', '--json'),
    start(path.join(__dirname, '..', 'support', 'consumer.cjs'), dist, 'ipos'),
  ];
  for (const reader of programs.slice(1)) await until(() => reader.stdout() !== '');
  for (const program of programs) {
    await rests(program);
    expect(program.intoThePast()).toStrictEqual([]);
  }
  // The signal itself ends the tail.
  expect(await Promise.all(programs.map((program) => program.stop()))).toEqual([0, null, 0]);
  for (const program of programs) expect(program.intoThePast()).toStrictEqual([]);
});

it('commands that end by themselves leave nothing open, and set no timer into the past', async () => {
  const ended = [['run', '--once'], ['doctor'], ['status'], ['tail', 'ipos', '--no-follow']];
  for (const args of ended) {
    const program = command(...args);
    expect(await program.ended()).toBe(0);
    expect(program.intoThePast()).toStrictEqual([]);
  }
});

it('topics that are read at once over one connection leave no socket behind', async () => {
  const kafka = new Kafka({ brokers: servers.brokers.split(','), logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  await admin.connect();
  const topics = ['a', 'b', 'c'].map((name) => `${env.HIGHWATER_TOPIC_PREFIX}${name}`);
  await createTopics(
    admin,
    topics.map((topic) => ({ topic, numPartitions: 1 })),
  );
  await admin.disconnect();
  const sockets = () => process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length;
  const before = sockets();
  const cluster = readingCluster(kafka);
  await cluster.connect();
  await cluster.addMultipleTargetTopics(topics);
  await assertReadable(cluster, topics, 'reading', { brokers: [], ssl: null, sasl: null });
  await cluster.disconnect();
  await until(() => sockets() <= before);
});
