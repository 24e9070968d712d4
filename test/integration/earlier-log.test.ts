import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import { connect } from '../../src/consumer/connect';
import { openLocalLog } from '../../src/log/local/local-log';
import { feedTopics } from '../../src/log/topics';
import { poll } from '../../src/pipeline/poll';
import { pollRound } from '../../src/pipeline/round';
import { acquireFeed } from '../../src/runtime/owned-feed';
import { testFeed } from '../support/feeds';
import { deadline, readAll } from '../support/log-records';
import { pagedSource } from '../support/paged-source';
import { publishedIn, type Values } from '../support/published';
import { quietLogger } from '../support/source';
import { tempFolder } from '../support/temp-folder';

/** The content of test/fixtures/log-of-7bc3a50; see the README there. */
const fixture = path.join(__dirname, '..', 'fixtures', 'log-of-7bc3a50');
const unpacked = (name: string): Buffer => gunzipSync(readFileSync(path.join(fixture, name)));

const folder = tempFolder();
beforeEach(() => {
  mkdirSync(path.join(folder(), 'consumers'));
  writeFileSync(path.join(folder(), 'highwater.db'), unpacked('highwater.db.gz'));
  writeFileSync(path.join(folder(), 'consumers', 'desk.db'), unpacked('desk.db.gz'));
});

type Row = { id: string; updated: number; [name: string]: unknown };

/** After everything in the fixture. */
const NOW_MS = 1_800_000_000_000;
const rows = JSON.parse(unpacked('api.json.gz').toString()) as Readonly<Record<string, readonly Row[]>>;

/** Polls a feed once as its publisher, from an API that shows these rows. @returns events of the poll */
async function published(name: string, shown: readonly Row[]): Promise<Values[]> {
  const feed = testFeed(name);
  const topics = feedTopics(feed, '');
  const log = openLocalLog({ dataDir: folder() });
  const { commitLog, registry } = log;
  const [stored] = await publishedIn(log, topics.sourceOffset.name);
  const { scope } = stored!.decoded!;
  const source = pagedSource(
    ({ updatedSince, pageOffset, pageSize }) =>
      shown
        .filter(({ updated }) => updated >= updatedSince)
        .sort((a, b) => a.updated - b.updated)
        .slice(pageOffset * pageSize, (pageOffset + 1) * pageSize),
    NOW_MS,
    NOW_MS,
  );
  const deps = { source, log: commitLog, registry, topics, scope, logger: quietLogger() };
  const owned = await acquireFeed(
    feed,
    { ...deps, appId: 'highwater', instance: 'test', stateDir: null },
    deadline(),
  );
  const before = await publishedIn(log, topics.changes.name);
  await poll(owned.deps, pollRound(owned.deps, true), deadline());
  const after = await publishedIn(log, topics.changes.name);
  const known = new Set(before.map(({ partition, logOffset }) => `${partition} ${logOffset}`));
  expect(after).toEqual(expect.arrayContaining([...before]));
  const fresh = after.filter(({ partition, logOffset }) => !known.has(`${partition} ${logOffset}`));
  await commitLog.close();
  return fresh.map(({ decoded }) => decoded!);
}

describe('a log that the version of 7bc3a50 wrote', () => {
  it.each([
    ['ipos', 33, 46],
    ['insights', 33, 34],
  ])('publishes nothing of %s while the API shows what it showed then', async (name, tracked, events) => {
    expect(rows[name]).toHaveLength(tracked);
    expect(await published(name, rows[name]!)).toStrictEqual([]);
    const log = openLocalLog({ dataDir: folder() });
    expect(await readAll(log.commitLog, [name])).toHaveLength(events);
    await log.commitLog.close();
  });

  it('goes on with what changed since, each before from its images, under the next numbers', async () => {
    const [first, ...others] = rows.ipos!;
    const updated = Math.max(...rows.ipos!.map((row) => row.updated)) + 60;
    const moved = { ...first!, updated, name: 'Renamed' };
    const added = { ...first!, id: 'f'.repeat(24), updated };
    const found = await published('ipos', [...others, moved, added]);

    expect(found.map(({ op, after }) => [op, after.name])).toEqual([
      ['u', 'Renamed'],
      ['c', first!.name],
    ]);
    expect(found[0]!.before).toMatchObject({ id: first!.id, name: first!.name, updated: first!.updated });
    expect(found.map(({ source }) => source.seq)).toEqual([47, 48]);
  });

  it('shows its groups the events behind their positions, and the table all records', async () => {
    await published('ipos', rows.ipos!);
    const log = connect({ dataDir: folder(), logger: quietLogger() });
    const over = new AbortController();
    const seen: string[] = [];
    const signal = AbortSignal.any([over.signal, deadline()]);
    await log.consume({ group: 'desk', topics: ['ipos'], from: 'beginning', signal }, ({ value }) => {
      if (seen.push(value.event_id) === 46 - 21) over.abort();
    });
    const table = await log.table('ipos');

    expect(new Set(seen).size).toBe(25);
    expect(new Set(table.keys())).toEqual(new Set(rows.ipos!.map(({ id }) => id)));
    await log.close();
  });
});
