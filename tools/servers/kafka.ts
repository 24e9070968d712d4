import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Admin, KafkaConfig } from 'kafkajs';
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
  /** Of server.properties, beside and before our own; of each broker where they differ. */
  readonly properties?: Properties | ((node: Node) => Properties);
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
const memory = ['-Xms64m', '-Xmx512m', '-XX:+UseSerialGC'];
/** Three are started again and again, side by side: they never run long enough for the second compiler to pay. */
const beside = ['-Xms64m', '-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1'];
const logging = '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn';

/**
 * Starts brokers, and resolves when each answers and knows the others.
 * @throws MissingToolError without Java or Maven; Error with what the broker wrote when it doesn't start within a minute and a half
 */
export async function startKafka(options: KafkaOptions = {}): Promise<Kafka> {
  const { brokers: count = 1, dataDir, secured = false, listeners = {}, properties = {} } = options;
  const java = await findJava();
  const classpath = path.join((await artefacts()).kafka, '*');
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
    await Promise.all(started.map((one) => one.stop()));
    if (dataDir === undefined) rmSync(folder, { recursive: true, force: true });
  };
  try {
    await Promise.all(
      nodes.map(async (node) => {
        const file = path.join(node.folder, 'server.properties');
        mkdirSync(node.folder, { recursive: true });
        const own = typeof properties === 'function' ? properties(node) : properties;
        const settings = { users, listeners, properties: own };
        writeFileSync(file, propertiesFile(brokerProperties(node, nodes, settings)));
        if (!existsSync(path.join(node.folder, 'logs', 'meta.properties'))) {
          await format(java, classpath, ['-t', clusterId, '-c', file, ...scramArguments(listeners)]);
        }
      }),
    );
    for (const node of nodes) {
      const command = {
        command: java,
        args: [
          ...(count === 1 ? memory : beside),
          logging,
          '-cp',
          classpath,
          'kafka.Kafka',
          path.join(node.folder, 'server.properties'),
        ],
        output: path.join(node.folder, 'broker.out'),
        folder: dataDir === undefined ? folder : null,
      };
      started.push(broker(node, () => startProcess(command), users));
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

/** The one of the folder; a new one for a new folder. */
function clusterIdOf(folder: string): string {
  const file = path.join(folder, 'cluster-id');
  mkdirSync(folder, { recursive: true });
  // Base64url; Kafka takes none that begins with a dash.
  if (!existsSync(file)) writeFileSync(file, randomBytes(16).toString('base64url').replace(/^-/, 'A'));
  return readFileSync(file, 'utf8').trim();
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
