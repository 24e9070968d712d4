import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Simulator, startSimulator } from '../../src/simulator/simulator';
import { build, root } from '../support/build';
import { until } from '../support/until';
import { rests, startWatched, type WatchedProcess } from '../support/watched-process';
import { run } from './command';
import { type NodeVersion, otherNodes } from './node-versions';
import type { Results } from './results';
import { type Servers, startServers } from './servers';

const RECORDS = 20;
const START_MS = 60_000;
const SUITES_MS = 600_000;
const natives = ['libsql', 'lz4-napi', '@mongodb-js/zstd'];

/** The data of each check on one version of Node. */
interface Scene {
  readonly node: NodeVersion;
  readonly dist: string;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * The program on the other versions of Node: that it starts, publishes to the embedded log and to Kafka, is read from both,
 * computes nothing while nothing happens, and that Node has nothing to say about it.
 * @param prefix of the topics; ends in a dot
 * @param suites of jest that are run on these lines too; all lines if it is left out
 */
export async function checkNodes(
  prefix: string,
  suites: readonly string[],
  results: Results,
  on: readonly number[] = [20, 22, 24],
): Promise<void> {
  process.stdout.write('Other versions of Node\n');
  const [nodes, dist] = await Promise.all([otherNodes(), build()]);
  const servers = await startServers();
  const folder = mkdtempSync(path.join(tmpdir(), 'highwater-nodes-'));
  const simulator = await startSimulator({
    records: { insights: RECORDS, analysts: RECORDS, ipos: RECORDS },
  });
  try {
    const looks = nodes.map(async (node) => {
      const own = path.join(folder, `node-${node.version}`);
      mkdirSync(own);
      const look = (what: string, work: () => Promise<void>) =>
        tell(`Node ${node.version}: ${what}`, work, results);
      const scene = { node, dist, folder: own, env: api(simulator) };
      await look('the native modules load', () => loadNatives(node));
      await look('the program runs on the embedded log', () => onEmbeddedLog(scene));
      const onServers = { ...scene, env: { ...scene.env, ...kafka(servers, `${prefix}${node.version}.`) } };
      await look('it runs on Kafka, and rests there while nothing happens', () => onKafka(onServers));
    });
    await Promise.all(looks);
  } finally {
    await simulator.stop();
    await servers.stop(prefix.replace(/\.$/, ''));
    rmSync(folder, { recursive: true, force: true });
  }
  for (const node of nodes.filter(({ version }) => on.includes(Number.parseInt(version, 10))))
    await tell(`Node ${node.version}: ${suites.join(', ')} pass`, () => runSuites(node, suites), results);
}

async function tell(what: string, work: () => Promise<void>, results: Results): Promise<void> {
  await work().then(
    () => results.ok(what),
    (error: Error) => results.fail(`not so: ${what}`, [error.message]),
  );
}

const api = ({ url, token }: Simulator) => ({
  HIGHWATER_API_URL: url,
  HIGHWATER_API_TOKEN: token,
  HIGHWATER_REQUESTS_PER_SECOND: '1000',
  HIGHWATER_POLL_INTERVAL: '1h',
});

const kafka = ({ brokers, registryUrl }: Servers, prefix: string) => ({
  KAFKA_BROKERS: brokers,
  SCHEMA_REGISTRY_URL: registryUrl,
  HIGHWATER_TOPIC_PREFIX: prefix,
  HIGHWATER_COMPRESSION: 'zstd',
  CONSUMER_GROUP: `${prefix}desk`,
});

async function loadNatives({ program }: NodeVersion): Promise<void> {
  const script = natives.map((name) => `require('${name}');`).join(' ');
  const { code, stderr } = await run(program, ['-e', script], { cwd: root, withinMs: START_MS });
  if (code !== 0 || stderr !== '') throw new Error(stderr || `ended with ${code}`);
}

async function onEmbeddedLog(scene: Scene): Promise<void> {
  const { version } = require(path.join(root, 'package.json')) as { version: string };
  hold((await complete(scene, '--version')).trim(), version, 'version');
  await complete(scene, 'run', '--once');
  await complete(scene, 'doctor');
  const records = await complete(scene, 'tail', 'ipos', '--no-follow', '--json');
  hold(records.trim().split('\n').length, RECORDS, 'records');
  await complete(scene, 'demo', '--interval', '100ms', '--for', '3s');
}

async function onKafka(scene: Scene): Promise<void> {
  const running: WatchedProcess[] = [];
  const start = (...args: string[]) => {
    running.push(startOn(scene, args));
    return running.at(-1)!;
  };
  const command = path.join(scene.dist, 'cli', 'main.js');
  try {
    const publisher = start(command, 'run');
    const snapshots = () => publisher.stderr().split('snapshot complete').length - 1;
    await reach(publisher, () => snapshots() === 3);
    const readers = [
      start(command, 'tail', 'ipos', '--from-beginning', '--json'),
      start(path.join(__dirname, '..', 'support', 'consumer.cjs'), scene.dist, 'ipos'),
    ];
    const printed = ({ stdout }: WatchedProcess) => stdout().split('\n').length - 1;
    for (const reader of readers) await reach(reader, () => printed(reader) === RECORDS);
    await complete(scene, 'doctor');
    for (const one of running) await rests(one);
  } finally {
    await Promise.all(running.map((one) => one.stop()));
  }
  // SIGTERM itself ends `tail`, which has no exit code then.
  for (const one of running) await endedWell(one, one === running[1] ? null : 0);
}

/** @returns a command's output */
async function complete(scene: Scene, ...args: string[]): Promise<string> {
  const started = startOn(scene, [path.join(scene.dist, 'cli', 'main.js'), ...args]);
  await endedWell(started);
  return started.stdout();
}

const startOn = ({ node, folder, env }: Scene, args: readonly string[]) =>
  startWatched(['--trace-warnings', ...args], { node: node.program, cwd: folder, env });

/** With its exit code, and nothing said by Node itself. */
async function endedWell(one: WatchedProcess, usual: number | null = 0): Promise<void> {
  const code = await one.ended(START_MS);
  if (code !== usual) throw new Error(`ended with ${code}:\n${one.stdout()}${one.stderr()}`);
  if (/^\(node:\d+\)/m.test(one.stderr())) throw new Error(one.stderr());
  hold(one.intoThePast().join('\n'), '', 'timers into the past');
}

async function reach(one: WatchedProcess, condition: () => boolean): Promise<void> {
  await until(condition, START_MS).catch((cause: Error) => {
    throw new Error(`${cause.message}; the program said:\n${one.stdout()}${one.stderr()}`, { cause });
  });
}

function hold<Value>(actual: Value, expected: Value, what: string): void {
  if (actual !== expected) throw new Error(`${what}: ${actual} instead of ${expected}`);
}

async function runSuites({ program }: NodeVersion, suites: readonly string[]): Promise<void> {
  const jest = path.join(root, 'node_modules', 'jest', 'bin', 'jest.js');
  const { code, stderr } = await run(program, [jest, '--silent', ...suites], {
    cwd: root,
    env: process.env,
    withinMs: SUITES_MS,
  });
  if (code !== 0) throw new Error(stderr.replace(/^PASS .*\n/gm, '').slice(-10_000));
}
