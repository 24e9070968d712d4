import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { propertiesFile } from '../../tools/servers/broker-properties';
import { freePort } from '../../tools/servers/ports';
import { ready, startProcess } from '../../tools/servers/server-process';
import type { Settings } from './guide';
import { javaCommand } from './java';
import { jars } from './maven';

/** A standalone worker of Kafka Connect. */
export interface ConnectWorker {
  /** State of a connector's only task: `RUNNING`, `FAILED` with the reason. */
  task(connector: string): Promise<TaskState>;
  output(): string;
  stop(): Promise<void>;
}

export interface TaskState {
  readonly state: string;
  readonly trace?: string;
}

export interface ConnectJars {
  readonly java: string;
  /** Folders: of the worker's class path, and of its one plugin. */
  readonly worker: string;
  readonly plugin: string;
}

const START_MS = 60_000;
const project = path.join(__dirname, 'connect');

/** @throws MissingToolError without Java or Maven */
export async function connectJars(): Promise<ConnectJars> {
  const java = await javaCommand();
  const worker = await jars('connect-worker', path.join(project, 'worker.pom.xml'));
  const plugin = await jars('connect-plugins', path.join(project, 'plugins.pom.xml'));
  return { java, worker, plugin };
}

/**
 * Starts a worker with its connectors, and resolves when it answers.
 * @param folder for its files
 * @param settings of the worker; those that say where its things are on this machine are added
 */
export async function startWorker(
  { java, worker, plugin }: ConnectJars,
  folder: string,
  settings: Settings,
  connectors: readonly Settings[],
): Promise<ConnectWorker> {
  const url = `http://127.0.0.1:${await freePort()}`;
  const plugins = path.join(folder, 'plugins');
  mkdirSync(plugins, { recursive: true });
  symlinkSync(plugin, path.join(plugins, 'highwater'));
  const offsets = path.join(folder, 'offsets');
  const own = { 'plugin.path': plugins, 'offset.storage.file.filename': offsets, listeners: url };
  const files = [{ ...settings, ...own }, ...connectors].map((properties, i) => {
    const file = path.join(folder, `${i}.properties`);
    writeFileSync(file, propertiesFile(properties));
    return file;
  });
  const memory = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xmx512m'];
  const quiet = '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn';
  const main = 'org.apache.kafka.connect.cli.ConnectStandalone';
  const server = startProcess({
    command: java,
    args: [...memory, quiet, '-cp', path.join(worker, '*'), main, ...files],
    output: path.join(folder, 'connect.out'),
    folder: null,
  });
  try {
    await ready('Kafka Connect', server, () => hasAll(url, connectors.length), START_MS);
  } catch (error) {
    await server.kill();
    throw error;
  }
  return {
    task: (connector) => taskOf(url, connector),
    output: () => server.output(),
    stop: () => server.stop(),
  };
}

async function hasAll(url: string, connectors: number): Promise<void> {
  const names = (await ask(`${url}/connectors`)) as string[];
  if (names.length < connectors) throw new Error(`only ${names.join(', ')} so far`);
}

async function taskOf(url: string, connector: string): Promise<TaskState> {
  const { tasks } = (await ask(`${url}/connectors/${connector}/status`)) as { tasks: TaskState[] };
  return tasks[0] ?? { state: 'UNASSIGNED' };
}

async function ask(url: string): Promise<unknown> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(5_000) });
  if (!answer.ok) throw new Error(`${url}: status ${answer.status}`);
  return answer.json();
}
