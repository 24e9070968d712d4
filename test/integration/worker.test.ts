import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { recordDecoder } from '../../src/avro/codec/record-decoder';
import { loadConfig } from '../../src/config/load-config';
import type { LogRecord } from '../../src/log/commit-log';
import { type LocalLog, openLocalLog } from '../../src/log/local/local-log';
import { feedTopics } from '../../src/log/topics';
import type { PageReport } from '../../src/pipeline/poll';
import { runWorker } from '../../src/runtime/worker';
import { type Simulator, startSimulator } from '../../src/simulator/simulator';
import type { SourceOffset } from '../../src/state/source-offset';
import { quietLogger } from '../support/source';
import { until } from '../support/until';

let api: Simulator;
let dataDir: string;
let log: LocalLog;
let stop: AbortController;
let running: Promise<unknown>;
const logger = quietLogger();

beforeEach(async () => {
  api = await startSimulator({ records: { ipos: 20, insights: 20, analysts: 20 }, compress: false });
  dataDir = mkdtempSync(path.join(tmpdir(), 'highwater-test-'));
  log = openLocalLog({ dataDir });
  stop = new AbortController();
  running = Promise.resolve();
  logger.warnings.length = 0;
});

afterEach(async () => {
  stop.abort();
  await running.catch(() => {});
  await log.commitLog.close();
  await api.stop();
  rmSync(dataDir, { recursive: true });
});

function worker(once: boolean, onPage: (report: PageReport) => void = () => {}, pollInterval = '30ms') {
  const env = {
    HIGHWATER_API_URL: api.url,
    HIGHWATER_API_TOKEN: api.token,
    HIGHWATER_DATA_DIR: dataDir,
    HIGHWATER_POLL_INTERVAL: pollInterval,
    HIGHWATER_RETRY_TIME: '800ms',
  };
  const config = loadConfig({ flags: {}, env, cwd: dataDir });
  const deps = { log: log.commitLog, registry: log.registry, logger, onPage };
  const result = runWorker(config, deps, once, stop.signal);
  running = result;
  return result;
}

/** The present records of a topic. */
async function logged(topic: string): Promise<LogRecord[]> {
  const records: LogRecord[] = [];
  const options = { fromBeginning: true, follow: false, signal: stop.signal };
  for await (const record of log.commitLog.read([topic], options)) records.push(record);
  return records;
}

it('polls every feed once and says how it went', async () => {
  expect(await worker(true)).toEqual(
    ['insights', 'analysts', 'ipos'].map((feed) => ({
      feed,
      error: null,
      complete: true,
      notCommitted: null,
    })),
  );
});

it('goes on with the other feeds when one is refused, parks that one, and keeps the reason in the log', async () => {
  api.fault({ fault: { kind: 'status', status: 403 }, feed: 'analysts', probability: 1 } as never);
  const pages = { insights: 0, analysts: 0, ipos: 0 };
  void worker(false, ({ feed }) => pages[feed.name as keyof typeof pages]++);
  // A slow machine may add timeouts of other requests, which are warned of too.
  const refusals = () => logger.warnings.filter((warning) => warning.includes('answered 403'));
  await until(() => pages.insights > 5 && pages.ipos > 5 && refusals().length > 0);
  expect(pages.analysts).toBe(0);
  expect(refusals()).toHaveLength(1);
  const stored = async () => (await logged('analysts.source-offset')).at(-1)?.value?.toString('latin1');
  await until(async () => (await stored())?.includes('SOURCE_FORBIDDEN') ?? false);
});

it('stores the poll interval of a feed that is parked for the same error as before a restart', async () => {
  api.fault({ fault: { kind: 'status', status: 403 }, probability: 1 } as never);
  const intervalsOf = async (feed: string) => {
    const decode = recordDecoder(log.registry);
    const offsets = await Promise.all((await logged(`${feed}.source-offset`)).map(decode));
    return offsets.map(({ value }) => (value as SourceOffset).poll_interval_ms);
  };
  await worker(true);
  await worker(true);
  expect(await intervalsOf('ipos')).toEqual([30]);
  await worker(true, undefined, '1h');
  expect(await intervalsOf('ipos')).toEqual([3_600_000]);
});

it('recovers by itself when the server does, without a change lost', async () => {
  let seen = 0;
  void worker(false, ({ changes }) => {
    seen += changes.count;
  });
  await until(() => seen === 60);
  api.fault({ fault: { kind: 'status', status: 500 }, probability: 1 } as never);
  const { updated: _, ...rest } = [...api.truth('ipos').values()][0]!;
  api.stores.ipos.upsert({ ...rest, id: 'written-meanwhile' } as never);
  await until(() => logger.warnings.length >= 3);
  expect(seen).toBe(60);
  api.clearFaults();
  await until(() => seen === 61);
  expect((await logged('ipos')).at(-1)!.key).toBe('written-meanwhile');
});

it('ends after the page under way when it is told to', async () => {
  let pages = 0;
  const result = worker(false, () => pages++);
  await until(() => pages > 3);
  stop.abort();
  expect((await result).map(({ error }) => error)).toEqual([null, null, null]);
  const after = pages;
  expect(pages).toBe(after);
});

it('publishes nothing of a feed whose schema breaks the registered one', async () => {
  await log.commitLog.acquire(
    feedTopics({ name: 'x', topic: 'x', transitions: [] } as never, ''),
    stop.signal,
  );
  await log.registry.register('ipos.current-value', {
    type: 'record',
    name: 'Ipo',
    namespace: 'marketdata.ipos',
    fields: [{ name: 'id', type: 'long' }],
  });
  const reports = await worker(true);
  expect(reports.map(({ error }) => error?.code)).toEqual([undefined, undefined, 'SCHEMA_INCOMPATIBLE']);
});
