import { readdirSync } from 'node:fs';
import type { LocalLog } from '../../src/log/local/local-log';
import { feedTopics } from '../../src/log/topics';
import type { PageReport } from '../../src/pipeline/poll';
import type { Simulator } from '../../src/simulator/simulator';
import { deadline, readAll } from '../support/log-records';
import { publishedIn } from '../support/published';
import { writeAgain } from '../support/records';
import type { quietLogger } from '../support/source';
import { until } from '../support/until';
import { type WorkerWorld, workerWorld } from '../support/world';

let world: WorkerWorld;
let api: Simulator;
let log: LocalLog;
let logger: ReturnType<typeof quietLogger>;

beforeEach(async () => {
  world = await workerWorld();
  ({ api, log, logger } = world);
});

const worker = (once: boolean, onPage: (report: PageReport) => void = () => {}, pollInterval = '30ms') => {
  // A poll that is to succeed may take long on a slow machine.
  const retryTime = once ? '60s' : '800ms';
  return world.run(
    { HIGHWATER_POLL_INTERVAL: pollInterval, HIGHWATER_RETRY_TIME: retryTime },
    { onPage },
    once,
  );
};

/** The present records of a topic. */
const logged = (topic: string) => readAll(log.commitLog, [topic]);

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

it('has ended when the images of all feeds are kept', async () => {
  await worker(true);
  const tables = readdirSync(world.dataDir).filter((name) => name.endsWith('.table'));
  expect(tables).toHaveLength(3);
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
    const offsets = await publishedIn(log, `${feed}.source-offset`);
    return offsets.map(({ decoded }) => decoded!.poll_interval_ms);
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
  writeAgain(api.stores.ipos, api.stores.ipos.keys()[0]!, { id: 'written-meanwhile' });
  await until(() => logger.warnings.length >= 3);
  expect(seen).toBe(60);
  api.clearFaults();
  await until(() => seen === 61);
  expect((await logged('ipos')).at(-1)!.key).toBe('written-meanwhile');
});

it('asks an API that is away no sooner than it says', async () => {
  const failed = jest.spyOn(logger, 'error');
  const away = { kind: 'status', status: 503, retryAfter: { as: 'seconds', seconds: 3_600 } };
  api.fault({ fault: away, feed: 'ipos', probability: 1 } as never);
  void worker(false);
  const pauses = () =>
    failed.mock.calls.map(([, facts]) => (facts as { retryInMs?: number } | undefined)?.retryInMs ?? 0);
  await until(() => pauses().some((ms) => ms > 3_000_000));
});

it('says that it waits for a page of an API that does not answer', async () => {
  const info = jest.spyOn(logger, 'info');
  api.fault({ fault: { kind: 'hang', when: 'before' }, feed: 'ipos', probability: 1 } as never);
  void worker(true);
  const said = `Waiting for a page of ipos from ${api.url}.`;
  await until(() => info.mock.calls.some(([message]) => message === said));
});

it('ends after the page under way when it is told to', async () => {
  let pages = 0;
  const result = worker(false, () => pages++);
  await until(() => pages > 3);
  await world.stop();
  expect((await result).map(({ error }) => error)).toEqual([null, null, null]);
  const after = pages;
  expect(pages).toBe(after);
});

it('publishes nothing of a feed whose schema breaks the registered one', async () => {
  await log.commitLog.acquire(
    feedTopics({ name: 'x', topic: 'x', transitions: [] } as never, ''),
    deadline(),
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
