import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { lock } from 'proper-lockfile';
import { firstLine } from './java';
import { MissingToolError } from './missing-tool';

const pomFile = path.join(__dirname, 'pom.xml');
const pom = readFileSync(pomFile, 'utf8');

/** As `pom.xml` has them. */
export const versions = { kafka: property('kafka.version'), registry: property('apicurio.version') };

/** Folders of what the servers run from. */
export interface Artefacts {
  /** The jars of Kafka. */
  readonly kafka: string;
  /** The unpacked registry. */
  readonly registry: string;
}

/**
 * What the servers run from, fetched by Maven at the first call on a machine and kept in a folder by version. Callers in
 * other processes wait for the one that fetches.
 * @throws MissingToolError without Maven; Error with Maven's own words when it fails
 */
export async function artefacts(env: NodeJS.ProcessEnv = process.env): Promise<Artefacts> {
  const cache = env.HIGHWATER_SERVERS_DIR || path.join(cacheFolder(env), 'highwater', 'servers');
  // Of the whole file, since every line of it changes what comes out.
  const digest = createHash('sha256').update(pom).digest('hex').slice(0, 8);
  const folder = path.join(cache, `kafka-${versions.kafka}-apicurio-${versions.registry}-${digest}`);
  if (!existsSync(folder)) {
    mkdirSync(cache, { recursive: true });
    // Maven's own repository is not made for two at once either.
    const release = await lock(cache, { retries: { forever: true, minTimeout: 200, maxTimeout: 1_000 } });
    try {
      if (!existsSync(folder)) await fetch(folder, env);
    } finally {
      await release();
    }
  }
  return { kafka: path.join(folder, 'kafka'), registry: path.join(folder, 'registry') };
}

/** A folder of that name is there when it is complete, and not before. */
async function fetch(folder: string, env: NodeJS.ProcessEnv): Promise<void> {
  // Of fetches that were killed.
  for (const name of readdirSync(path.dirname(folder))) {
    if (name.startsWith(unfinished)) {
      rmSync(path.join(path.dirname(folder), name), { recursive: true, force: true });
    }
  }
  const partial = mkdtempSync(path.join(path.dirname(folder), unfinished));
  try {
    await runMaven(['-q', '-B', '-f', pomFile, `-Dservers=${partial}`, 'process-resources'], env);
    renameSync(partial, folder);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

const unfinished = 'unfinished-';

async function runMaven(args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  try {
    await promisify(execFile)('mvn', args, { env, maxBuffer: 16 * 1_048_576 });
  } catch (error) {
    const { code, stdout, stderr } = error as { code?: unknown; stdout?: string; stderr?: string };
    if (code === 'ENOENT') {
      const what = `Maven was not found (${firstLine(error)}), and Kafka is not in the cache yet`;
      throw new MissingToolError(what, 'Install Maven', { cause: error });
    }
    const what = `Maven could not fetch Kafka and the registry: mvn ${args.join(' ')}\n${stdout}${stderr}`;
    throw new MissingToolError(what, 'Let Maven reach Maven Central or a mirror of it', { cause: error });
  }
}

function cacheFolder({ XDG_CACHE_HOME, HOME }: NodeJS.ProcessEnv): string {
  return XDG_CACHE_HOME || path.join(HOME || homedir(), '.cache');
}

function property(name: string): string {
  const value = new RegExp(`<${name}>([^<]+)</${name}>`).exec(pom)?.[1];
  if (value === undefined) throw new Error(`${pomFile} has no ${name}`);
  return value;
}
