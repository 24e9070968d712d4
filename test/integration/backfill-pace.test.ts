import { setTimeout as sleep } from 'node:timers/promises';
import { startSimulator } from '../../src/simulator/simulator';
import { createSource } from '../../src/source/client';
import { createRequestBudget, type RequestPriority } from '../../src/source/request-budget';
import type { Source } from '../../src/source/source';
import { backfill, daysAgo } from '../support/backfill';
import { testFeed } from '../support/feeds';
import { quietLogger } from '../support/source';
import { testPublisher } from '../support/test-publisher';

/** Whether a request comes from a live poll, not from a backfill. */
const LIVE_PAGE_SIZE = 7;
const REQUEST_MS = 25;

it('on a slow server with one budget, a poll waits for no more than the request that is under way', async () => {
  const names = ['insights', 'ipos', 'analysts'] as const;
  const api = await startSimulator({
    records: { insights: 150, ipos: 150, analysts: 150 },
    spreadDays: 40,
    newestSecondsAgo: 4000,
    compress: false,
  });
  const budget = createRequestBudget({ requestsPerSecond: 1000, maxConcurrent: 1 });
  const sources: { close(): void }[] = [];
  const sourceOf = (priority: RequestPriority) => {
    const source = createSource({
      baseUrl: api.url,
      token: api.token,
      budget,
      limits: {
        timeoutMs: 60_000,
        idleTimeoutMs: 60_000,
        bodyLimitBytes: 2 ** 26,
        retry: { attempts: 2, totalMs: 60_000, baseMs: 5, maxMs: 50 },
      },
      logger: quietLogger(),
      priority,
    });
    sources.push(source);
    return source;
  };
  const live = sourceOf('live');
  const slow = sourceOf('backfill');
  const isLive = (query: Readonly<Record<string, unknown>>) => query.pagesize === String(LIVE_PAGE_SIZE);
  /** Requests of backfills that the server gets while a live one waits for its turn. */
  const overtaken: number[] = [];
  let waiting: number | null = null;
  const watched: Source = {
    async fetchPage(of, request, signal) {
      waiting = 0;
      return live.fetchPage(of, request, signal);
    },
  };
  api.onRequest(async (_, { query }) => {
    if (isLive(query)) {
      if (waiting !== null) overtaken.push(waiting);
      waiting = null;
    } else if (waiting !== null) waiting++;
    await sleep(REQUEST_MS);
  });

  const publishers = await Promise.all(
    names.map(async (name) => {
      const feed = testFeed(name, { snapshotMode: 'never', pageSize: 20, pollIntervalMs: 60_000 });
      return { feed, publisher: await testPublisher(feed, live) };
    }),
  );
  const watchedFeed = testFeed('ipos', { snapshotMode: 'never', pageSize: LIVE_PAGE_SIZE });
  const poller = await testPublisher(watchedFeed, watched);
  try {
    for (const { publisher } of [...publishers, { publisher: poller }]) await publisher.poll();
    overtaken.length = 0;
    let running = publishers.length;
    const backfills = publishers.map(({ feed, publisher }) =>
      backfill(publisher, feed, { from: daysAgo(60), to: daysAgo(0) }, { source: slow }).finally(() => {
        running--;
      }),
    );
    while (running === publishers.length) await poller.poll();
    const results = await Promise.all(backfills);
    expect(results.every(({ complete }) => complete)).toBe(true);
    expect(overtaken.length).toBeGreaterThan(5);
    // One may be on its way to the server when the live one asks.
    expect(Math.max(...overtaken)).toBeLessThanOrEqual(1);
  } finally {
    for (const { publisher } of [...publishers, { publisher: poller }]) await publisher.close();
    for (const source of sources) source.close();
    budget.close();
    await api.stop();
  }
});
