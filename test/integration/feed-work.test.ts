import type { Command, Outcome } from '../../src/commands/command';
import { createInbox, type Inbox } from '../../src/commands/inbox';
import { HighwaterError } from '../../src/errors';
import type { Feed } from '../../src/feeds/feed';
import type { CommitLog } from '../../src/log/commit-log';
import { type LocalLog, openLocalLog } from '../../src/log/local/local-log';
import { soleMembership } from '../../src/log/membership';
import { feedTopics } from '../../src/log/topics';
import { movePosition } from '../../src/pipeline/transaction/transact';
import { type FeedTaskDeps, runFeedTask } from '../../src/runtime/feed-task';
import { feedTenure } from '../../src/runtime/feed-tenure';
import { acquireFeed } from '../../src/runtime/owned-feed';
import { Rotation } from '../../src/secrets/rotation';
import { type Simulator, startSimulator } from '../../src/simulator/simulator';
import type { ClosableSource } from '../../src/source/client';
import { testFeed } from '../support/feeds';
import { publishedIn } from '../support/published';
import { writeAgain } from '../support/records';
import { quietLogger, testSource } from '../support/source';
import { tempFolder } from '../support/temp-folder';
import { until } from '../support/until';

let api: Simulator;
let source: ClosableSource;
let log: LocalLog;
let inbox: Inbox;
let stop: AbortController;
let running: Promise<unknown>;
let scope: string;
let logger: ReturnType<typeof quietLogger>;

beforeEach(async () => {
  scope = 'scope';
  api = await startSimulator({ compress: false, records: { insights: 0, analysts: 0, ipos: 40 } });
  source = testSource(api);
  logger = quietLogger();
});
afterEach(async () => {
  await stopped();
  source.close();
  await api.stop();
});

/** Removed after what uses it has ended. */
const folder = tempFolder();

async function stopped(): Promise<void> {
  stop.abort();
  await running;
  await log.commitLog.close();
}

/** A publisher of one feed, in this process. */
async function begin(change: Partial<Feed> = {}): Promise<void> {
  const feed = testFeed('ipos', { pageSize: 10, pollIntervalMs: 20, ...change });
  log = openLocalLog({ dataDir: folder() });
  inbox = createInbox();
  stop = new AbortController();
  running = runFeedTask(feed, taskDeps(feed), false, stop.signal);
}

function taskDeps(feed: Feed): FeedTaskDeps {
  return {
    source,
    log: log.commitLog,
    registry: log.registry,
    logger,
    inbox,
    topics: feedTopics(feed, ''),
    scope,
    appId: 'test',
    instance: 'test',
    stateDir: folder(),
    membership: soleMembership(),
    tell: () => {},
    redact: (text) => text,
    rotation: new Rotation(),
  };
}

async function start(change: Partial<Feed> = {}): Promise<void> {
  await begin(change);
  await until(async () => (await offset())?.snapshot === 'complete');
}

function ask(command: Command, progress: string[] = []): Promise<Outcome> {
  return new Promise((answer) => {
    inbox.put({ command, answer, progress: (summary) => void progress.push(summary) });
  });
}

const decoded = async (topic: string) =>
  (await publishedIn(log, topic)).flatMap(({ decoded: values }) => values ?? []);
const offset = async () => (await decoded('ipos.source-offset')).at(-1);
const ops = async () => (await decoded('ipos')).map(({ op }) => op as string).join('');
const requests = () => api.requests().length;

/** Writes the record of a key again, with other notes. */
const note = (key: string, notes: string) => writeAgain(api.stores.ipos, key, { notes });

/** Old rows, far behind the mark and all overlaps, so no poll reads them. */
function hide(count: number, apartSeconds = 1): void {
  const { updated, ...record } = api.stores.ipos.get(api.stores.ipos.keys()[0]!)!;
  for (let i = 0; i < count; i++)
    api.stores.ipos.upsert({ ...record, id: `old ${i}` } as never, {
      updated: (updated as number) - 1_000_000 + i * apartSeconds,
    });
}

/** While no publisher runs. */
async function move(position: Parameters<typeof movePosition>[1]): Promise<void> {
  log = openLocalLog({ dataDir: folder() });
  const feed = testFeed('ipos');
  const { deps } = await acquireFeed(feed, taskDeps(feed), new AbortController().signal);
  await movePosition(deps, position);
  await log.commitLog.close();
}

const summary = (outcome: Outcome) => (outcome.ok ? outcome.summary : outcome.error.message);

it('goes on with its own images when it takes a feed back that it has just let go of', async () => {
  const feed = testFeed('ipos');
  log = openLocalLog({ dataDir: folder() });
  inbox = createInbox();
  stop = new AbortController();
  const told: string[] = [];
  const deps = {
    ...taskDeps(feed),
    logger: { ...logger, debug: (message: string) => void told.push(message) },
  };
  const tenure = feedTenure(feed, deps, false, stop.signal);
  const { held, owned } = await tenure.own();
  await held.work.turn(owned, held.over);
  await tenure.release();
  await tenure.own();
  expect(told).toContain('Feed ipos goes on with the images that it kept.');
  running = tenure.leave();
});

it('does not poll a feed that is paused, also after a restart, until it is resumed', async () => {
  await start();
  expect(summary(await ask({ name: 'pause' }))).toMatch(/ipos is paused/);
  note(api.stores.ipos.keys()[0]!, 'while it was paused');
  const before = requests();
  await stopped();
  await start();
  // Answered by the loop, which would have polled by now.
  expect(await ask({ name: 'reconcile', dryRun: false, allowDeletes: null })).toMatchObject({
    ok: false,
    error: { code: 'COMMAND_REFUSED' },
  });
  expect(requests()).toBe(before);
  expect((await offset())!.paused).toBe(true);

  expect(summary(await ask({ name: 'resume' }))).toMatch(/polled again/);
  await until(async () => (await ops()).endsWith('u'));
});

it('polls on between the pages of a reconcile, and says how it goes', async () => {
  await start();
  api.stores.ipos.remove(api.stores.ipos.keys()[30]!);
  api.behave({ pageCap: 1 });
  const progress: string[] = [];
  let isOver = false;
  const reconciling = ask({ name: 'reconcile', dryRun: false, allowDeletes: 2 }, progress);
  reconciling.then(() => {
    isOver = true;
  });
  await until(() => progress.length > 2);
  // Behind all that the reconcile has read, and long before it gets there.
  note(api.stores.ipos.keys()[0]!, 'meanwhile');
  await until(async () => (await decoded('ipos')).some(({ op }) => op === 'u'));
  expect(isOver).toBe(false);
  const outcome = await reconciling;

  expect(outcome).toMatchObject({ ok: true, facts: { deleted: 1, missing: 0 } });
  expect(progress).toContainEqual(expect.stringMatching(/^scan 1: 1 row of about 40$/));
  expect(progress).toContainEqual(
    expect.stringMatching(/^scan 1 is done: 1 record was not shown, .* in 0 s$/),
  );
  expect(progress).toContainEqual(expect.stringMatching(/^scan 2: \d+ rows of about 40/));
  expect(progress.at(-1)).toBe('0 of 1 record probed that neither scan showed');
});

it('ends a reconcile at once for a pause, and has deleted nothing', async () => {
  await start();
  api.stores.ipos.remove(api.stores.ipos.keys()[30]!);
  api.behave({ pageCap: 1 });
  const progress: string[] = [];
  const reconciling = ask({ name: 'reconcile', dryRun: false, allowDeletes: 2 }, progress);
  await until(() => progress.length > 2);
  const pausing = ask({ name: 'pause' });

  expect(await reconciling).toMatchObject({ ok: false, error: { code: 'COMMAND_INTERRUPTED' } });
  expect(await pausing).toMatchObject({ ok: true });
  expect(await ops()).toBe('r'.repeat(40));
});

it('reconciles by itself when its time has come', async () => {
  await start({ reconcileEveryMs: 1_000, deleteShare: 0.1 });
  api.stores.ipos.remove(api.stores.ipos.keys()[30]!);

  await until(async () => (await ops()).endsWith('d'));
  expect((await offset())!.last_reconcile_ms).toEqual(expect.any(Number));
});

it.each([
  ['a day ago, while nobody ran', -86_400_000],
  ['in a time that is not yet, by a clock that went wrong', 86_400_000],
])('reconciles soon after a start when the last one was %s', async (_name, ms) => {
  await start();
  api.stores.ipos.remove(api.stores.ipos.keys()[30]!);
  await stopped();
  await move({ last_reconcile_ms: Date.now() + ms });
  await begin({ reconcileEveryMs: 80_000_000, deleteShare: 0.1 });

  await until(async () => (await ops()).endsWith('d'));
});

it('says how long a reconcile waits between its scans, if an API hides what was written lately', async () => {
  await start();
  api.stores.ipos.remove(api.stores.ipos.keys()[30]!);
  await stopped();
  await move({ last_reconcile_ms: Date.now() - 86_400_000, least_change_age_ms: 60_000 });
  const infos: string[] = [];
  logger.info = (message) => void infos.push(message);
  await begin({ reconcileEveryMs: 80_000_000 });

  await until(() => infos.some((one) => one.endsWith('so that a second one begins in 10 min.')));
});

it('names a paused feed when it is to poll once', async () => {
  await start();
  await ask({ name: 'pause' });
  await stopped();
  log = openLocalLog({ dataDir: folder() });
  const feed = testFeed('ipos');
  running = runFeedTask(feed, taskDeps(feed), true, new AbortController().signal);

  expect(await running).toMatchObject({ error: null, complete: true });
  expect(logger.warnings).toEqual([expect.stringContaining('Feed ipos is paused and was not polled.')]);
});

it('reports a page that was not committed, also after a later failure of the API', async () => {
  await start();
  await stopped();
  log = openLocalLog({ dataDir: folder() });
  const feed = testFeed('ipos', { pollIntervalMs: 20 });
  const refused = new HighwaterError('LOG_FAILED', 'the disk is gone');
  const commit = () => Promise.reject(refused);
  const acquire: CommitLog['acquire'] = async (...args) =>
    Object.assign(Object.create(await log.commitLog.acquire(...args)), { commit });
  const failing = Object.assign(Object.create(log.commitLog), { acquire }) as CommitLog;
  stop = new AbortController();
  const failures: string[] = [];
  const tell: FeedTaskDeps['tell'] = (event) => void (event.kind === 'failed' && failures.push(event.code));
  running = runFeedTask(feed, { ...taskDeps(feed), log: failing, tell }, false, stop.signal);
  await until(() => failures.includes('LOG_FAILED'));
  api.fault({ fault: { kind: 'status', status: 401 }, probability: 1 } as never);
  await until(() => failures.at(-1) === 'SOURCE_UNAUTHORIZED');
  stop.abort();
  expect(await running).toMatchObject({ notCommitted: refused });
});

describe('a feed with another idField than its records', () => {
  const other = { idField: ['id', 'ticker'] } as const;

  it('publishes nothing until it begins anew', async () => {
    await start();
    await stopped();
    await begin(other);
    await until(async () => (await offset())!.parked === 'STATE_ID_FIELD_CHANGED');
    expect(await ask({ name: 'snapshot' })).toMatchObject({
      error: {
        code: 'STATE_ID_FIELD_CHANGED',
        message: 'Feed ipos has idField [id, ticker], and its 40 records were published under [id].',
      },
    });
    expect(await ops()).toBe('r'.repeat(40));

    expect(await ask({ name: 'reset' })).toMatchObject({ ok: true });
    await until(async () => (await offset())!.snapshot === 'complete');
    expect(await ops()).toBe('r'.repeat(80));
    expect(await offset()).toMatchObject({ id_field: other.idField, parked: null, record_count: 40 });
  });

  it('goes on when the former one is back, also after a change of the scope', async () => {
    await start();
    await stopped();
    scope = 'another';
    await begin(other);
    await until(async () => (await offset())!.parked === 'STATE_ID_FIELD_CHANGED');
    await stopped();
    await begin();
    await until(async () => (await offset())!.parked === null);
    expect(await offset()).toMatchObject({ id_field: ['id'], record_count: 40 });
    expect(await ops()).not.toContain('c');
  });

  it.each([
    ['an earlier version has not kept it', 40],
    ['it has no records', 0],
  ])('is published if %s', async (_, records) => {
    if (records === 0) for (const key of api.stores.ipos.keys()) api.stores.ipos.remove(key);
    await start();
    await stopped();
    if (records > 0) await move({ id_field: [] });
    await begin(other);
    await until(async () => String((await offset())!.id_field) === 'id,ticker');
    expect((await offset())!.parked).toBeNull();
  });
});

const ofAll = { name: 'backfill', from: '2000-01-01', to: '2099-12-31' } as const;

describe('long work that fails', () => {
  /** One second of old rows that paging does not reach the end of. No poll reads that far back. */
  async function startBeyondReach(change: Partial<Feed> = {}): Promise<void> {
    await start({ pagingLimit: 20, ...change });
    hide(60, 0);
  }

  async function expectPolledOn(): Promise<void> {
    note(api.stores.ipos.keys().at(-1)!, 'polled on');
    await until(async () => (await ops()).endsWith('u'));
    expect(await offset()).toMatchObject({ parked: null, last_error: null });
  }

  it.each<[string, Command]>([
    ['a reconcile, dry run', { name: 'reconcile', dryRun: true, allowDeletes: null }],
    ['a reconcile', { name: 'reconcile', dryRun: false, allowDeletes: null }],
    ['a backfill', ofAll],
  ])('is answered, and the feed is polled on (%s)', async (_, command) => {
    await startBeyondReach();
    expect(await ask(command)).toMatchObject({ ok: false, error: { code: 'SCAN_BEYOND_REACH' } });
    expect((await offset())!.backfill).toBeNull();
    await expectPolledOn();
  });

  it('is logged when nobody asked for it, and the feed is polled on', async () => {
    await startBeyondReach({ reconcileEveryMs: 200 });
    await until(() => logger.warnings.some((text) => /reconcile of feed ipos failed/.test(text)));
    await expectPolledOn();
    expect(logger.warnings).toHaveLength(1);
  });

  it('is answered when the API does not answer, and the feed is polled when that is due', async () => {
    await start({ pollIntervalMs: 60_000 });
    api.fault({ fault: { kind: 'status', status: 500 }, times: 4 } as never);
    const outcome = await ask({ name: 'reconcile', dryRun: true, allowDeletes: null });
    expect(outcome).toMatchObject({ ok: false, error: { code: 'SOURCE_UNAVAILABLE' } });
    expect(await offset()).toMatchObject({ parked: null, last_error: null });
    expect(logger.warnings).toStrictEqual([]);
  });
});

it('refuses to reconcile while a snapshot runs, whose first sights are reads', async () => {
  api.fault({ fault: { kind: 'status', status: 500 }, skip: 4, times: 10_000 } as never);
  await begin();
  const outcome = await ask({ name: 'reconcile', dryRun: false, allowDeletes: null });

  expect(outcome).toMatchObject({ ok: false, error: { code: 'COMMAND_REFUSED' } });
  expect(await ops()).not.toMatch(/c/);
});

it('answers commands while the API fails', async () => {
  await start();
  api.fault({ fault: { kind: 'status', status: 500 }, times: 10_000 } as never);
  await until(async () => (await offset())!.last_error !== null);

  expect(await ask({ name: 'pause' })).toMatchObject({ ok: true });
  expect((await offset())!.paused).toBe(true);
});

describe('a backfill', () => {
  it('goes on after a restart, without being asked again', async () => {
    await start();
    hide(25);
    api.behave({ pageCap: 4 });
    const progress: string[] = [];
    const asking = ask(ofAll, progress);
    await until(() => progress.length > 3);
    await stopped();
    expect(await asking).toMatchObject({ ok: false, error: { code: 'COMMAND_INTERRUPTED' } });
    await start();

    await until(async () => (await offset())!.backfill === null);
    expect(await ops()).toBe('r'.repeat(65));
  });
});
