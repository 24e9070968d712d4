import path from 'node:path';
import { assertReadable } from '../../src/log/kafka/admin/examine';
import { kafkaClient } from '../../src/log/kafka/connection/client';
import { readingCluster } from '../../src/log/kafka/connection/cluster';
import { build } from '../support/build';
import { kafkaWorld, plainKafka } from '../support/kafka-world';
import { apiEnv, simulatedApi } from '../support/simulated-api';
import { quietLogger } from '../support/source';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';
import { rests, startWatched, type WatchedProcess } from '../support/watched-process';

const folder = tempFolder();
const running: WatchedProcess[] = [];
const kafka = kafkaWorld();
const api = simulatedApi({ insights: 20, analysts: 20, ipos: 20 });
let dist: string;

beforeAll(async () => {
  dist = await build();
});
afterEach(() => Promise.all(running.splice(0).map((one) => one.stop())));

function start(...args: string[]): WatchedProcess {
  const own = { HIGHWATER_POLL_INTERVAL: '1h', CONSUMER_GROUP: kafka.prefix() };
  const env = { ...kafka.env(), ...apiEnv(api()), ...own };
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
  const topics = ['a', 'b', 'c'].map((name) => `${kafka.prefix()}${name}`);
  await kafka.create(...topics.map((topic) => ({ topic, numPartitions: 1 })));
  const sockets = () => process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length;
  const before = sockets();
  const cluster = readingCluster(kafka.client());
  await cluster.connect();
  await cluster.addMultipleTargetTopics(topics);
  await assertReadable(cluster, topics, 'reading', { brokers: [], ssl: null, sasl: null });
  await cluster.disconnect();
  await until(() => sockets() <= before);
});

it('a request that is sent while its connection ends is answered or fails', async () => {
  const client = kafkaClient(plainKafka(kafka.brokers()), 'test', quietLogger());
  // The moments within one turn of the event loop, as counts of finished promises.
  for (const moment of Array.from({ length: 15 }, (_, count) => count)) {
    for (const isAskedFirst of [true, false]) {
      const cluster = readingCluster(client);
      await cluster.connect();
      await cluster.refreshMetadata();
      const broker = await cluster.findBroker({ nodeId: cluster.getNodeIds()[0]! });
      const end = async () => {
        for (let count = 0; count < moment; count++) await null;
        await broker.connectionPool.pool[0]!.disconnect();
      };
      const ask = () => broker.metadata([]).catch((error: Error) => error);
      await Promise.all(isAskedFirst ? [ask(), end()] : [end(), ask()]);
      await cluster.disconnect();
    }
  }
});
