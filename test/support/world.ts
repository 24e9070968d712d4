import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type ConfigWithApi, loadConfig } from '../../src/config/load-config';
import type { Feed } from '../../src/feeds/feed';
import { type LocalLog, openLocalLog } from '../../src/log/local/local-log';
import { runWorker } from '../../src/runtime/worker';
import { type Simulator, type SimulatorOptions, startSimulator } from '../../src/simulator/simulator';
import type { ClosableSource } from '../../src/source/client';
import type { Source } from '../../src/source/source';
import { endsWithTest } from './ends';
import { quietLogger, testSource } from './source';
import { type TestPublisher, testPublisher } from './test-publisher';

export interface WorldOptions {
  readonly feed: Feed;
  readonly vendor?: SimulatorOptions;
  /** Stands between the client and the publisher. */
  readonly between?: (client: ClosableSource, api: Simulator) => Source;
  /** The client takes no larger answers. */
  readonly bodyLimitBytes?: number | undefined;
  /** Clock of the client, ms; that of the vendor, if it is not given. */
  readonly now?: () => number;
}

export interface World {
  readonly api: Simulator;
  readonly source: Source;
  readonly publisher: TestPublisher;
  /** Ends all of it before the test does. */
  close(): Promise<void>;
}

/** A simulated API, the client that reads it, and a publisher of one feed to an embedded log. All of it ends with the test. */
export async function world({
  feed,
  vendor = {},
  between = (client) => client,
  bodyLimitBytes,
  now = vendor.clock,
}: WorldOptions): Promise<World> {
  const api = await startSimulator({ compress: false, ...vendor });
  endsWithTest(() => api.stop());
  const client = testSource(api, quietLogger(), bodyLimitBytes, now);
  endsWithTest(() => client.close());
  const source = between(client, api);
  const publisher = await testPublisher(feed, source);
  const close = async () => {
    await publisher.close();
    client.close();
    await api.stop();
  };
  return { api, source, publisher, close };
}

/** Publishers of all feeds in this process, over a simulated API with 20 records of each feed and an embedded log. */
export interface WorkerWorld {
  readonly api: Simulator;
  readonly dataDir: string;
  readonly log: LocalLog;
  readonly logger: ReturnType<typeof quietLogger>;
  /** @param settings beside those of the API, the log and short pauses */
  config(settings?: Readonly<Record<string, string>>): ConfigWithApi;
  /** Publishes with these settings. It ends with the test. */
  run(settings?: Readonly<Record<string, string>>, deps?: Partial<WorkerDeps>, once?: boolean): Running;
  /** Ends what runs. */
  stop(): Promise<void>;
}

type WorkerDeps = Parameters<typeof runWorker>[1];
type Running = ReturnType<typeof runWorker>;

export async function workerWorld(vendor: SimulatorOptions = {}): Promise<WorkerWorld> {
  const api = await startSimulator({
    records: { ipos: 20, insights: 20, analysts: 20 },
    compress: false,
    ...vendor,
  });
  endsWithTest(() => api.stop());
  const dataDir = mkdtempSync(path.join(tmpdir(), 'highwater-test-'));
  endsWithTest(() => rmSync(dataDir, { recursive: true }));
  const log = openLocalLog({ dataDir });
  endsWithTest(() => log.commitLog.close());
  const logger = quietLogger();
  let stop = new AbortController();
  let running: Promise<unknown> = Promise.resolve();
  const world: WorkerWorld = {
    api,
    dataDir,
    log,
    logger,
    config(settings = {}) {
      const env = {
        HIGHWATER_API_URL: api.url,
        ...(Object.keys(settings).some((name) => name.startsWith('HIGHWATER_API_TOKEN'))
          ? {}
          : { HIGHWATER_API_TOKEN: api.token }),
        HIGHWATER_DATA_DIR: dataDir,
        HIGHWATER_POLL_INTERVAL: '30ms',
        ...settings,
      };
      return loadConfig({ flags: {}, env, cwd: dataDir });
    },
    run(settings = {}, deps = {}, once = false) {
      const all = { log: log.commitLog, registry: log.registry, logger, ...deps };
      const result = runWorker(world.config(settings), all, once, stop.signal);
      running = result;
      return result;
    },
    async stop() {
      stop.abort();
      await running.catch(() => {});
      stop = new AbortController();
    },
  };
  endsWithTest(world.stop);
  return world;
}
