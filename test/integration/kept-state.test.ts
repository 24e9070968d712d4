import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readSchema } from '../../src/avro/schemas';
import { HighwaterError } from '../../src/errors';
import type { Feed } from '../../src/feeds/feed';
import type { GatheredRecords } from '../../src/log/gathered';
import { type LocalLog, openLocalLog } from '../../src/log/local/local-log';
import { feedTopics } from '../../src/log/topics';
import { poll } from '../../src/pipeline/poll';
import { pollRound } from '../../src/pipeline/round';
import { movePosition } from '../../src/pipeline/transaction/transact';
import { acquireFeed, type OwnedFeed, type OwnedFeedDeps } from '../../src/runtime/owned-feed';
import { type Simulator, startSimulator } from '../../src/simulator/simulator';
import type { ClosableSource } from '../../src/source/client';
import { endsWithTest } from '../support/ends';
import { testFeed } from '../support/feeds';
import { writeAgain } from '../support/records';
import { schemaFiles, without } from '../support/schema-versions';
import { quietLogger, testSource } from '../support/source';

const feed = testFeed('ipos');
const { signal } = new AbortController();
let folder: string;
let api: Simulator;
let source: ClosableSource;
let ids: readonly string[];

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'highwater-test-'));
  endsWithTest(() => rmSync(folder, { recursive: true }));
  api = await startSimulator({ compress: false, records: { ipos: 20 } });
  endsWithTest(() => api.stop());
  ids = api.stores.ipos.keys();
  source = testSource(api);
  endsWithTest(() => source.close());
});

const position = ({ deps: { state } }: OwnedFeed) => ({
  incarnation: state.offset.incarnation,
  ownerEpoch: state.offset.owner_epoch,
  commit: state.offset.commit + 1,
});

const place = (name: string) => path.join(folder, name);

function open(): LocalLog {
  const log = openLocalLog({ dataDir: place('data'), retention: { ageMs: null, bytes: 1e9 } });
  endsWithTest(() => log.commitLog.close());
  return log;
}

const own = (log: LocalLog, stateDir: string | null, deps: Partial<OwnedFeedDeps> = {}, of: Feed = feed) =>
  acquireFeed(
    of,
    {
      ...{ source, log: log.commitLog, registry: log.registry, logger: quietLogger() },
      ...{ topics: feedTopics(feed, ''), scope: 'scope', appId: 'test', instance: 'test' },
      stateDir: stateDir === null ? null : place(stateDir),
      ...deps,
    },
    signal,
  );

const pollOnce = ({ deps }: OwnedFeed) => poll(deps, pollRound(deps, true), signal);

/** An owner that has polled once. */
async function polled(log: LocalLog, stateDir: string, deps: Partial<OwnedFeedDeps> = {}, of: Feed = feed) {
  const owned = await own(log, stateDir, deps, of);
  await pollOnce(owned);
  return owned;
}

/** A poll whose records are committed after something has happened, once they were gathered. */
function pollInterrupted({ deps }: OwnedFeed, happens: () => void) {
  const gather = () => {
    const gathered = deps.session.gather() as GatheredRecords;
    Object.defineProperty(gathered.all, Symbol.iterator, {
      value: () => {
        happens();
        return Array.prototype[Symbol.iterator].call(gathered.all);
      },
    });
    return gathered;
  };
  const interrupted = { ...deps, session: { ...deps.session, gather } };
  return poll(interrupted, pollRound(interrupted, true), signal);
}

/** Batches without news, up to this number: how many batches a poll takes depends on time. */
async function commitUpTo(number: number, { deps }: OwnedFeed): Promise<void> {
  while (deps.state.offset.commit < number) await movePosition(deps, {});
}

function images({ deps: { state } }: OwnedFeed) {
  const all = Array.from(state.records.numbers(), (number) => [
    state.records.idOf(number),
    state.records.imageOf(number).toString('hex'),
  ]);
  return Object.fromEntries(all);
}

/** What the kept images give, and what the log gives. */
async function both(log: LocalLog, stateDir: string) {
  const cold = await own(log, null);
  const fromLog = images(cold);
  await cold.close();
  const warm = await own(log, stateDir);
  const kept = images(warm);
  await warm.close();
  return { kept, fromLog };
}

const rename = (at: number, name: string) => writeAgain(api.stores.ipos, ids[at]!, { name });

it('after a commit in which the file of the log was moved, images are not kept', async () => {
  const log = open();
  const owned = await polled(log, 'state');
  rename(3, 'committed');
  const file = place('data/highwater.db');
  // The file is moved between the commit and the look that follows it.
  const interrupted = pollInterrupted(owned, () => renameSync(file, `${file}.moved`));
  await expect(interrupted).rejects.toMatchObject({ code: 'LOG_GONE' });
  await owned.close().catch(() => undefined);
  await log.commitLog.close().catch(() => undefined);
  renameSync(`${file}.moved`, file);

  const { kept, fromLog } = await both(open(), 'state');
  expect(kept).toEqual(fromLog);
});

it('a batch that is committed is not published again because the folder cannot be looked at after it', async () => {
  const log = open();
  const owned = await polled(log, 'state');
  rename(3, 'committed');
  const [data, moved] = [place('data'), place('moved')];
  // A link to itself can be no folder, as one without permission: whether the file is there is then unknown.
  const interrupted = pollInterrupted(owned, () => {
    renameSync(data, moved);
    symlinkSync(data, data);
  });
  expect(await interrupted).toMatchObject({ changes: 1 });
  await expect(
    owned.deps.session.commit({ feed: 'ipos', records: [], position: position(owned) }),
  ).rejects.toThrow(/ELOOP/);
  rmSync(data);
  renameSync(moved, data);

  rename(4, 'later');
  expect(await pollOnce(owned)).toMatchObject({ changes: 1 });
  await owned.close();
});

it('the end of a topic always comes with the number of its last batch', async () => {
  const log = open();
  const owned = await polled(log, 'state');
  rename(3, 'committed');
  const { session } = owned.deps;
  const ends = new Set<string>();
  const commit: typeof session.commit = async (batch) => {
    let isOver = false;
    const committed = session.commit(batch).finally(() => {
      isOver = true;
    });
    while (!isOver) {
      ends.add(JSON.stringify(session.endOf('ipos.current')));
      await Promise.resolve();
    }
    await committed;
    ends.add(JSON.stringify(session.endOf('ipos.current')));
  };
  const deps = { ...owned.deps, session: { ...session, commit } };
  await poll(deps, pollRound(deps, true), signal);
  ends.delete('null');
  const { commit: number } = deps.state.offset;
  expect([...ends].map((end) => JSON.parse(end).commit)).toStrictEqual([number]);
  await owned.close();
});

it('a page is reported when all of its images have been taken over, however long that takes', async () => {
  const row = api.stores.ipos.get(ids[0]!)!;
  for (let i = 0; i < 200; i++) api.stores.ipos.upsert({ ...row, id: `another-${i}` } as never);
  // Each look at the clock finds that other work should have its turn.
  let now = performance.now();
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => (now += 20));
  endsWithTest(() => clock.mockRestore());
  const reported: (readonly [committed: number, takenOver: number])[] = [];
  const owned = await own(open(), null, {
    onPage: ({ state }) => reported.push([state.offset.record_count, [...state.records.numbers()].length]),
  });
  await pollOnce(owned);
  expect(reported.at(-1)).toEqual([220, 220]);
  expect(reported.map(([, takenOver]) => takenOver)).toEqual(reported.map(([committed]) => committed));
  await owned.close();
});

it('images are not used with an older copy of the log that has gone on to as many batches', async () => {
  let log = open();
  const first = await polled(log, 'other');
  await first.close();
  await log.commitLog.close();
  copyFileSync(place('data/highwater.db'), place('copy.db'));

  log = open();
  rename(3, 'lost with the log');
  const lost = await polled(log, 'state');
  await commitUpTo(10, lost);
  await lost.close();
  await log.commitLog.close();

  for (const name of readdirSync(place('data'))) rmSync(path.join(place('data'), name), { recursive: true });
  copyFileSync(place('copy.db'), place('data/highwater.db'));
  log = open();
  rename(3, 'as many batches later');
  const next = await polled(log, 'other');
  await commitUpTo(10, next);
  expect(next.deps.state.offset.commit).toBe(lost.deps.state.offset.commit);
  await next.close();

  const { kept, fromLog } = await both(log, 'state');
  expect(kept).toEqual(fromLog);
});

it('a restore that the log has interrupted goes on from there', async () => {
  const log = open();
  const first = await polled(log, 'state');
  await first.close();
  let read = 0;
  /** @param most images that can be read */
  const reading = (most: number): OwnedFeedDeps['log'] => ({
    ...log.commitLog,
    async acquire(...taken) {
      const session = await log.commitLog.acquire(...taken);
      return {
        ...session,
        async *restore(topic, ...from) {
          read = 0;
          for await (const record of session.restore(topic, ...from)) {
            if (topic === 'ipos.current' && ++read > most)
              throw new HighwaterError('KAFKA_UNREACHABLE', 'no broker answers');
            yield record;
          }
        },
      };
    },
  });
  const interrupted = own(log, 'other', { log: reading(12) });
  await expect(interrupted).rejects.toMatchObject({ code: 'KAFKA_UNREACHABLE' });
  await expect(own(log, 'other', { log: reading(5) })).rejects.toMatchObject({ code: 'KAFKA_UNREACHABLE' });
  const warm = await own(log, 'other', { log: reading(100) });
  expect(read).toBe(20 - 12 - 5);
  const found = images(warm);
  await warm.close();
  const cold = await own(log, null);
  expect(found).toEqual(images(cold));
  await cold.close();
});

it('images stay kept while the registry cannot say which schema wrote them', async () => {
  const log = open();
  const files = schemaFiles();
  endsWithTest(files.remove);
  const older = testFeed('ipos', { schema: files.add(without(readSchema('ipo.avsc'), ['notes'])) });
  const first = await polled(log, 'state', {}, older);
  const before = images(first);
  await first.close();
  const away: OwnedFeedDeps['registry'] = {
    ...log.registry,
    schemaById: () => Promise.reject(new HighwaterError('REGISTRY_UNREACHABLE', 'it is away')),
  };
  for (const _ of [1, 2])
    await expect(own(log, 'state', { registry: away })).rejects.toMatchObject({
      code: 'REGISTRY_UNREACHABLE',
    });
  const told: unknown[] = [];
  const debug = (...line: unknown[]): void => void told.push(line);
  const again = await own(log, 'state', { logger: { ...quietLogger(), debug } });
  const goesOn = expect.stringContaining('goes on with the images that it kept');
  expect(told).toEqual([[goesOn, { feed: 'ipos', records: 20, changes: 0 }]]);
  expect(images(again)).toEqual(before);
  await again.close();
});

it('a restore that fails says why, and not that its file could not be removed', async () => {
  const log = open();
  const onRestore = () => {
    for (const name of readdirSync(place('state'))) {
      rmSync(path.join(place('state'), name), { recursive: true });
      mkdirSync(path.join(place('state'), name));
    }
    throw new Error('the reason');
  };
  await expect(own(log, 'state', { onRestore })).rejects.toThrow('the reason');
});
