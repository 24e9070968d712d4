import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type * as OpenLogModule from '../../src/cli/log/open-log';
import type * as LoadConfigModule from '../../src/config/load-config';
import type { PublisherEvent } from '../../src/runtime/publisher-events';
import type * as WorkerModule from '../../src/runtime/worker';
import { fromDist, program } from '../dist';
import { quiet } from './quiet';

/** Where a publisher reads, and where it writes. */
export interface PublisherSetup {
  readonly api: { readonly url: string; readonly token: string };
  readonly dataDir: string;
  /** `10ms`, the shortest that there is, to `10m`. */
  readonly pollInterval: string;
  /** Null: the embedded log. */
  readonly kafka: { readonly brokers: string; readonly registryUrl: string; readonly prefix: string } | null;
  /** Codec of the records in Kafka. The program's default if left out. */
  readonly compression?: string;
}

function environmentOf({
  api,
  dataDir,
  pollInterval,
  kafka,
  compression,
}: PublisherSetup): NodeJS.ProcessEnv {
  return {
    HIGHWATER_API_URL: api.url,
    HIGHWATER_API_TOKEN: api.token,
    HIGHWATER_DATA_DIR: dataDir,
    HIGHWATER_FEEDS: 'ipos',
    HIGHWATER_POLL_INTERVAL: pollInterval,
    HIGHWATER_REQUESTS_PER_SECOND: '1000',
    ...(kafka !== null && {
      KAFKA_BROKERS: kafka.brokers,
      SCHEMA_REGISTRY_URL: kafka.registryUrl,
      HIGHWATER_TOPIC_PREFIX: kafka.prefix,
    }),
    ...(compression !== undefined && { HIGHWATER_COMPRESSION: compression }),
  };
}

/** The configuration and the log as the program itself would have them. */
export function openPublisher(setup: PublisherSetup) {
  const { loadConfig } = fromDist<typeof LoadConfigModule>('config/load-config');
  const { openLog } = fromDist<typeof OpenLogModule>('cli/log/open-log');
  const config = loadConfig({ flags: {}, env: environmentOf(setup), cwd: setup.dataDir });
  const log = openLog(config, { logger: quiet, signal: new AbortController().signal });
  return { config, log };
}

/** Runs `highwater run --once`. @throws Error with what it printed if it fails */
export async function secondsOfRun(setup: PublisherSetup): Promise<number> {
  const began = performance.now();
  await promisify(execFile)(process.execPath, [program, 'run', '--once'], {
    cwd: setup.dataDir,
    env: environmentOf(setup),
  });
  return (performance.now() - began) / 1_000;
}

/**
 * Runs the publisher in this process, with all that it does: membership, commands, the loop of the feed.
 * @param once one poll, which is all of a first snapshot
 * @throws what the feed ended with
 */
export async function publish(
  setup: PublisherSetup,
  once: boolean,
  tell: (event: PublisherEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const { runWorker } = fromDist<typeof WorkerModule>('runtime/worker');
  const { config, log } = openPublisher(setup);
  try {
    const deps = { log: log.commitLog, registry: log.registry, logger: quiet, tell };
    const [task] = await runWorker(config, deps, once, signal);
    if (task!.error !== null) throw task!.error;
  } finally {
    await log.commitLog.close();
  }
}
