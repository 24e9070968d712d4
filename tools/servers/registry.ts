import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { artefacts } from './artefacts';
import { findJava } from './java';
import { freePort } from './ports';
import { ready, startProcess } from './server-process';

export interface RegistryOptions {
  /** A free one by default. */
  readonly port?: number;
  /** Where its schemas are kept; in memory by default. */
  readonly dataDir?: string;
}

/** A Confluent-compatible schema registry on 127.0.0.1. */
export interface Registry {
  /** Base address of its Confluent-compatible API: `http://127.0.0.1:PORT/apis/ccompat/v7`. */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** What it writes is in `registry.out` there. */
  readonly folder: string;
  /** SIGKILL; what it held in memory is gone. */
  kill(): Promise<void>;
  /** SIGSTOP: it accepts connections and never answers. */
  freeze(): void;
  thaw(): void;
  /** Stops it and removes its folder. */
  stop(): Promise<void>;
}

const START_MS = 60_000;

/**
 * Starts a registry, and resolves when it answers.
 * @throws MissingToolError without Java or Maven; Error with what it wrote when it doesn't start within a minute
 */
export async function startRegistry(options: RegistryOptions = {}): Promise<Registry> {
  const [java, { registry }] = [await findJava(), await artefacts()];
  const port = options.port ?? (await freePort());
  const folder = mkdtempSync(path.join(tmpdir(), 'highwater-registry-'));
  const jar = readdirSync(registry).find((name) => name.endsWith('-runner.jar'));
  if (jar === undefined)
    throw new Error(`${registry} holds no registry: remove it, to have it fetched again`);
  const server = startProcess({
    command: java,
    args: ['-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-jar', path.join(registry, jar)],
    cwd: folder,
    env: {
      ...process.env,
      QUARKUS_HTTP_HOST: '127.0.0.1',
      QUARKUS_HTTP_PORT: String(port),
      ...(options.dataDir === undefined ? {} : storedIn(options.dataDir)),
    },
    output: path.join(folder, 'registry.out'),
    folder,
  });
  const url = `http://127.0.0.1:${port}/apis/ccompat/v7`;
  const stop = async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await ready('the schema registry', server, () => answers(`${url}/subjects`), START_MS);
  } catch (error) {
    await stop();
    throw error;
  }
  const { pid, kill, freeze, thaw } = server;
  return { url, port, pid, folder, kill, freeze, thaw, stop };
}

/** Of its two data sources both are asked for. */
function storedIn(dataDir: string): NodeJS.ProcessEnv {
  const url = `jdbc:h2:file:${path.resolve(dataDir, 'registry')}`;
  return { QUARKUS_DATASOURCE_JDBC_URL: url, REGISTRY_DATASOURCE_URL: url };
}

async function answers(url: string): Promise<void> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(2_000) });
  await answer.arrayBuffer();
  if (!answer.ok) throw new Error(`status ${answer.status}`);
}
