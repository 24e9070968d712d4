import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Admin, KafkaConfig } from 'kafkajs';
import { lock } from 'proper-lockfile';
import { artefacts } from './artefacts';
import {
  brokerProperties,
  type Node,
  type Properties,
  propertiesFile,
  type Users,
} from './broker-properties';
import { findJava } from './java';
import { type Listeners, scramArguments, type User } from './listeners';
import { freePort } from './ports';
import { ready, type ServerProcess, startProcess } from './server-process';

export interface KafkaOptions {
  /** 1 by default. Three: replication factor 3, two in-sync replicas needed, one may be away. */
  readonly brokers?: 1 | 3;
  /** Of the first broker; a free one by default. */
  readonly port?: number;
  /** Kept at the end; a temporary folder by default, which is not. Of the same number of brokers each time. */
  readonly dataDir?: string;
  /** SASL/PLAIN without TLS, and ACLs: see `Kafka.users`. */
  readonly secured?: boolean;
  /** Further ports of each broker, with TLS, a login, or both. */
  readonly listeners?: Listeners;
  /** Runs as in production, for whoever measures it: it takes longer to start and twice the memory. */
  readonly measured?: boolean;
  /** Of server.properties, beside and before our own; of each broker where they differ. */
  readonly properties?: Properties | ((node: Node) => Properties);
  /** Folder of the jars of a version of Kafka, asked for at each start of a broker; that of `pom.xml` by default. */
  readonly jars?: () => string;
  /** Further flags of Java, which start the broker without a {@link WarmStart}. */
  readonly flags?: readonly string[];
}

/** A broker, which is a controller too. */
export interface Broker {
  readonly id: number;
  readonly port: number;
  /** `127.0.0.1:PORT` */
  readonly address: string;
  /** Addresses of its further listeners, by name. */
  readonly listeners: Readonly<Record<string, string>>;
  /** Of its latest life. */
  readonly pid: number;
  /** SIGKILL; resolves when it has ended. */
  kill(): Promise<void>;
  /** SIGTERM; resolves when it has ended in order. */
  stop(): Promise<void>;
  /** SIGSTOP: its connections stay open and nothing is answered. */
  freeze(): void;
  /** SIGCONT. */
  thaw(): void;
  /** Starts it again, on its data and port, after `kill` or `stop` (else it is stopped first); resolves when it answers. */
  restart(): Promise<void>;
}

/** A Kafka cluster of its own on 127.0.0.1. */
export interface Kafka {
  /** Addresses of all brokers, as KAFKA_BROKERS takes them. */
  readonly bootstrap: string;
  readonly brokers: readonly Broker[];
  /** Holds the data, and what the brokers write to `broker-ID/broker.out`. */
  readonly folder: string;
  /** Null unless secured. */
  readonly users: Users | null;
  /** Stops the brokers and removes their data, unless `dataDir` was given. */
  stop(): Promise<void>;
}

export type { User, Users };

const START_MS = 90_000;
const measuredFlags = ['-Xms64m', '-Xmx512m', '-XX:+UseSerialGC'];
/** Brokers of tests are started again and again, beside what is tested: the second compiler never pays. */
const cheapFlags = ['-Xms64m', '-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];
const logging = '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn';

/**
 * Starts brokers, and resolves when each answers and knows the others.
 * @throws MissingToolError without Java or Maven; Error with what the broker wrote when it doesn't start within a minute and a half
 */
export async function startKafka(options: KafkaOptions = {}): Promise<Kafka> {
  const { brokers: count = 1, dataDir, secured = false, listeners = {}, properties = {} } = options;
  const java = await findJava();
  const ours = (await artefacts()).kafka;
  const { jars, flags, measured = false } = options;
  const isCold = jars !== undefined || flags !== undefined || measured;
  const warm = isCold ? null : await warmStart(ours);
  const classpath = () => path.join(jars?.() ?? ours, '*');
  const folder = dataDir ?? mkdtempSync(path.join(tmpdir(), 'highwater-kafka-'));
  const clusterId = clusterIdOf(folder);
  const users = secured ? { admin: user('admin'), publisher: user('publisher') } : null;
  const nodes: Node[] = [];
  for (let id = 1; id <= count; id++) {
    const port = id === 1 && options.port !== undefined ? options.port : await freePort();
    const listenerPorts: Record<string, number> = {};
    for (const name of Object.keys(listeners)) listenerPorts[name] = await freePort();
    const nodeFolder = path.join(folder, `broker-${id}`);
    nodes.push({ id, port, controllerPort: await freePort(), listenerPorts, folder: nodeFolder });
  }
  const started: StartedBroker[] = [];
  const stop = async () => {
    // In order only for data that is kept: the last of three brokers would wait for a quorum that has gone.
    await Promise.all(started.map((one) => (dataDir === undefined ? one.kill() : one.stop())));
    if (dataDir === undefined) rmSync(folder, { recursive: true, force: true });
  };
  try {
    await Promise.all(
      nodes.map(async (node) => {
        const file = path.join(node.folder, 'server.properties');
        mkdirSync(node.folder, { recursive: true });
        const own = typeof properties === 'function' ? properties(node) : properties;
        const settings = brokerProperties(node, nodes, { users, listeners, properties: own });
        writeFileSync(file, propertiesFile(settings));
        const scram = scramArguments(listeners);
        if (existsSync(path.join(String(settings['log.dirs']), 'meta.properties'))) return;
        if (warm !== null && scram.length === 0) copyFormatted(warm, clusterId, settings);
        else await format(java, classpath(), ['-t', clusterId, '-c', file, ...scram]);
      }),
    );
    for (const node of nodes) {
      const command = () => ({
        command: java,
        args: [
          ...(measured ? measuredFlags : cheapFlags),
          ...(warm === null ? (flags ?? []) : [`-XX:SharedArchiveFile=${warm.classes}`]),
          logging,
          '-cp',
          classpath(),
          'kafka.Kafka',
          path.join(node.folder, 'server.properties'),
        ],
        output: path.join(node.folder, 'broker.out'),
        folder: dataDir === undefined ? folder : null,
      });
      started.push(broker(node, () => startProcess(command()), users));
    }
    await Promise.all(started.map((one) => one.answers(nodes)));
  } catch (error) {
    await stop();
    throw error;
  }
  const bootstrap = started.map(({ address }) => address).join(',');
  return { bootstrap, brokers: started, folder, users, stop };
}

interface StartedBroker extends Broker {
  /** Resolves when it answers and knows these nodes. */
  answers(nodes: readonly Node[]): Promise<void>;
}

function broker(node: Node, start: () => ServerProcess, users: Users | null): StartedBroker {
  let server = start();
  const { id, port } = node;
  const address = `127.0.0.1:${port}`;
  const answers = (nodes: readonly Node[]) =>
    ready(`broker ${id} (${address})`, server, () => knows(address, nodes, users), START_MS);
  return {
    id,
    port,
    address,
    listeners: Object.fromEntries(
      Object.entries(node.listenerPorts).map(([name, port]) => [name, `127.0.0.1:${port}`]),
    ),
    get pid() {
      return server.pid;
    },
    answers,
    kill: () => server.kill(),
    stop: () => server.stop(),
    freeze: () => server.freeze(),
    thaw: () => server.thaw(),
    async restart() {
      await server.stop();
      server = start();
      await answers([node]);
    },
  };
}

/** Gives the log folders the cluster's id and first users; every node has the same. */
async function format(java: string, classpath: string, given: readonly string[]): Promise<void> {
  const tool = ['kafka.tools.StorageTool', 'format', '--ignore-formatted', ...given];
  const args = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', logging, '-cp', classpath, ...tool];
  try {
    await promisify(execFile)(java, args);
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(
      `a log folder could not be formatted (${given.slice(0, 4).join(' ')}):\n${stdout}${stderr}`,
      {
        cause: error,
      },
    );
  }
}

/** As `format` does it for a cluster without users, in no time. */
function copyFormatted({ checkpoint }: WarmStart, clusterId: string, settings: Properties): void {
  const logs = String(settings['log.dirs']);
  mkdirSync(logs, { recursive: true });
  copyFileSync(checkpoint, path.join(logs, 'bootstrap.checkpoint'));
  const ids = { 'cluster.id': clusterId, 'node.id': settings['node.id']!, 'directory.id': newId() };
  writeFileSync(path.join(logs, 'meta.properties'), propertiesFile({ version: 1, ...ids }));
}

/** Two files that save 60 % of the processor time of a start (3.6 s without them). */
export interface WarmStart {
  /** What `kafka-storage format` writes, apart from the ids. */
  readonly checkpoint: string;
  /** The classes of a broker, parsed and checked, for `-XX:SharedArchiveFile`. Another version of Java ignores the file. */
  readonly classes: string;
}

const warmIn = (folder: string): WarmStart => ({
  checkpoint: path.join(folder, 'bootstrap.checkpoint'),
  classes: path.join(folder, 'classes.jsa'),
});

/** Makes the files for these jars at the first call on a machine, and keeps them beside the jars. */
export async function warmStart(jars: string): Promise<WarmStart> {
  const folder = path.join(path.dirname(jars), 'warm-start');
  if (existsSync(folder)) return warmIn(folder);
  const release = await lock(jars, { retries: { forever: true, minTimeout: 200, maxTimeout: 1_000 } });
  const partial = mkdtempSync(`${folder}-`);
  try {
    if (existsSync(folder)) return warmIn(folder);
    const { checkpoint, classes } = warmIn(partial);
    const {
      folder: data,
      brokers,
      stop,
    } = await startKafka({ flags: [`-XX:ArchiveClassesAtExit=${classes}`] });
    try {
      copyFileSync(path.join(data, 'broker-1', 'logs', 'bootstrap.checkpoint'), checkpoint);
      // Writes the classes.
      await brokers[0]!.stop();
    } finally {
      await stop();
    }
    renameSync(partial, folder);
    return warmIn(folder);
  } finally {
    rmSync(partial, { recursive: true, force: true });
    await release();
  }
}

/** The one of the folder; a new one for a new folder. */
function clusterIdOf(folder: string): string {
  const file = path.join(folder, 'cluster-id');
  mkdirSync(folder, { recursive: true });
  if (!existsSync(file)) writeFileSync(file, newId());
  return readFileSync(file, 'utf8').trim();
}

/** Base64url; Kafka takes none that begins with a dash. */
function newId(): string {
  return randomBytes(16).toString('base64url').replace(/^-/, 'A');
}

/** @throws unless the broker, asked alone, lists all of the nodes */
async function knows(address: string, nodes: readonly Node[], users: Users | null): Promise<void> {
  const admin = await adminOf({ brokers: [address], ...(users && { sasl: sasl(users.admin) }) });
  try {
    await admin.connect();
    const { brokers } = await admin.describeCluster();
    const missing = nodes.filter(({ id }) => !brokers.some(({ nodeId }) => nodeId === id));
    if (missing.length > 0) {
      throw new Error(`${address} does not know of broker ${missing.map(({ id }) => id).join(', ')}`);
    }
  } finally {
    await admin.disconnect();
  }
}

async function adminOf(config: KafkaConfig): Promise<Admin> {
  // At the first need: whoever only might start a cluster need not load it.
  const { Kafka: Client, logLevel } = await import('kafkajs');
  return new Client({
    connectionTimeout: 1_000,
    requestTimeout: 2_000,
    retry: { retries: 0 },
    logLevel: logLevel.NOTHING,
    ...config,
  }).admin();
}

function sasl({ username, password }: User) {
  return { mechanism: 'plain' as const, username, password };
}

function user(username: string): User {
  return { username, password: randomBytes(12).toString('hex') };
}
