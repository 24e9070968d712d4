import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
import { build } from '../support/build';
import { createTopics } from '../support/create-topics';
import { type SharedServers, sharedServers, uniquePrefix } from '../support/servers';

/** Programs that are done: nothing of a consumer may keep them. */

let servers: SharedServers;
let dist: string;
let topic: string;
/** Two events. */
let small: string;

beforeAll(async () => {
  [servers, dist] = await Promise.all([sharedServers(), build()]);
  topic = `${uniquePrefix()}large`;
  small = `${uniquePrefix()}small`;
  const kafka = new Kafka({ brokers: servers.brokers.split(','), logLevel: logLevel.NOTHING });
  const [admin, producer] = [kafka.admin(), kafka.producer()];
  await admin.connect();
  await createTopics(admin, [
    { topic, numPartitions: 2 },
    { topic: small, numPartitions: 1 },
  ]);
  await admin.disconnect();
  await producer.connect();
  // More than a broker gives in one answer.
  for (let i = 0; i < 40; i++) {
    const value = Buffer.alloc(800_000, i);
    await producer.send({ topic, messages: [0, 1].map((partition) => ({ partition, key: 'k', value })) });
  }
  await producer.send({ topic: small, messages: ['a', 'b'].map((key) => ({ key, value: null })) });
  await producer.disconnect();
});

/** @returns its exit code; null when it did not end */
async function run(program: string): Promise<{ code: number | null; said: string }> {
  const head = `
    const { setTimeout: sleep } = require('node:timers/promises');
    const { connect } = require(${JSON.stringify(path.join(dist, 'consumer'))});
    const { openKafkaConsumerLog } = require(${JSON.stringify(path.join(dist, 'log', 'kafka', 'consumer-log'))});
    const brokers = ${JSON.stringify(servers.brokers.split(','))};
    const topic = ${JSON.stringify(topic)};
    const logger = { error() {}, warn() {}, info() {}, debug() {} };
    const port = openKafkaConsumerLog({
      kafka: { brokers, ssl: null, sasl: null, compression: 'none' }, appId: 'test', topicPrefix: '', logger,
    });
    const log = connect({ kafka: { brokers }, schemaRegistry: { url: ${JSON.stringify(servers.registryUrl)} }, logger });
    (async () => { ${program} })().then(() => console.log('done'));`;
  const child = spawn(process.execPath, ['-e', head], { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  child.stdout.on('data', (chunk) => (said += chunk));
  child.stderr.on('data', (chunk) => (said += chunk));
  const timer = setTimeout(() => child.kill('SIGKILL'), 60_000);
  const [code] = await once(child, 'exit');
  clearTimeout(timer);
  return { code, said };
}

const ended = { code: 0, said: 'done\n' };

it('reading that is broken off while the next answer comes leaves no connection', async () => {
  const program = `
    for (let wait = 0; wait < 60; wait += 7)
      for await (const record of port.load(topic, new AbortController().signal)) { await sleep(wait); break; }`;
  expect(await run(program)).toEqual(ended);
});

it.each(['load(topic, ', 'follow(topic, new Map(), ', "ends(topic, 'written', "])(
  '%s whose signal comes at any time leaves no connection',
  async (call) => {
    const program = `
      for (let wait = 0; wait < 120; wait += 10) {
        const signal = AbortSignal.timeout(wait);
        const asked = port.${call}signal);
        try { for await (const record of asked[Symbol.asyncIterator] ? asked : [await asked]) await sleep(5); } catch {}
      }`;
    expect(await run(program)).toEqual(ended);
  },
);

it('a log that is closed at any time ends the process', async () => {
  const program = `
    for (let wait = 0; wait < 400; wait += 40) {
      const log = connect({ kafka: { brokers }, schemaRegistry: { url: ${'`http://localhost:1`'} }, logger });
      const table = log.table('ipos').catch(() => undefined);
      const consuming = log.consume({ group: topic + wait, topics: [topic] }, () => undefined);
      const reading = (async () => { for await (const event of log.read(topic, { where: { op: ['c'] } })); })().catch(() => undefined);
      await sleep(wait);
      await Promise.all([log.close(), log.close()]);
      await Promise.all([table, consuming, reading]);
    }`;
  expect(await run(program)).toEqual(ended);
});

it('a group that wrote a dead letter ends the process with its signal, and so does one after it', async () => {
  const program = `
    for (const group of ['one', 'two']) {
      const stop = new AbortController();
      let events = 0;
      const options = { topics: ['${small}'], from: 'beginning', onFailure: 'dead-letter', retry: { attempts: 1 } };
      await log.consume({ group: '${small}-' + group, signal: stop.signal, ...options }, () => {
        if (events++ === 0) throw new Error('cannot be handled');
        stop.abort();
      });
      const letters = [];
      for await (const letter of log.read('${small}-' + group + '.dead-letters')) letters.push(letter.key);
      if (letters.join() !== 'a') throw new Error(letters.join());
    }`;
  expect(await run(program)).toEqual(ended);
});
