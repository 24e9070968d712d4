import { createDashboard, type Dashboard } from '../../../../src/admin/dashboard/dashboard';
import { feedBoard } from '../../../../src/admin/feed-board';
import type { SchemaRegistry } from '../../../../src/avro/registry/registry';
import type { CommitLog } from '../../../../src/log/commit-log';
import type { FeedState } from '../../../../src/state/feed-state';
import { firstSourceOffset } from '../../../../src/state/source-offset';
import { testFeed } from '../../../support/feeds';
import { quietLogger } from '../../../support/source';
import { until } from '../../../support/until';

/** At the port: a log in which nothing is ever written. */
const quietLog = {
  async *read(_topics, { follow, signal }) {
    if (follow) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  },
} as Partial<CommitLog> as CommitLog;

const feed = testFeed('ipos');

function openDashboard(deliveries: () => Promise<[]>): Dashboard {
  const board = feedBoard([feed], async () => new Map());
  const state = {
    offset: firstSourceOffset('ipos', 'a', 's'),
    recordCount: 0,
    deadLetterCount: 0,
  } as FeedState;
  board.tell({
    kind: 'acquired',
    feed: 'ipos',
    state,
    drift: { found: () => ({ paths: [], others: 0 }) } as never,
  });
  const options = {
    feeds: [feed],
    topicPrefix: '',
    redact: (text: string) => text,
    logger: quietLogger(),
    instance: 'box:1',
    place: 'data',
    build: { version: '1', log: 'embedded' },
    api: { access: new Map(), budget: { requestsPerSecond: 1 } as never },
    log: quietLog,
    registry: {} as SchemaRegistry,
  } as const;
  return createDashboard(board, options, deliveries);
}

/** Number of calls of `then` of each promise, because a promise keeps the callbacks until it settles. */
function countReactions(): Map<unknown, number> {
  const counts = new Map<unknown, number>();
  const { then } = Promise.prototype;
  jest.spyOn(Promise.prototype, 'then').mockImplementation(function (this: Promise<unknown>, ...args) {
    counts.set(this, (counts.get(this) ?? 0) + 1);
    return then.apply(this, args) as never;
  });
  return counts;
}

let drawn = 0;
const dashboard = openDashboard(async () => {
  drawn++;
  return [];
});
afterEach(() => dashboard.close());

it('a page that looks at a quiet dashboard leaves no reactions on a promise that stays open', async () => {
  const { signal } = new AbortController();
  let told = 0;
  const looking = (async () => {
    for await (const _ of dashboard.events(null, signal)) told++;
  })();
  const counts = countReactions();
  // The page looks ten times a second for changes.
  await until(() => drawn > 3);
  jest.restoreAllMocks();
  expect(told).toBeGreaterThanOrEqual(4);
  expect(Math.max(...counts.values())).toBeLessThan(10);
  await dashboard.close();
  await looking;
});
