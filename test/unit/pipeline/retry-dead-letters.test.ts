import type { PollDeps } from '../../../src/pipeline/poll';
import { poll } from '../../../src/pipeline/poll';
import type { Decoder } from '../../../src/pipeline/records/decode';
import { pollRound } from '../../../src/pipeline/round';
import { retryDeadLetters } from '../../../src/pipeline/rounds/retry-dead-letters';
import { movePosition } from '../../../src/pipeline/transaction/transact';
import { testFeed } from '../../support/feeds';
import { reconciled } from '../../support/operations';
import { ipo } from '../../support/records';
import { scriptedPublisher } from '../../support/scripted-publisher';
import { scriptedVendor } from '../../support/scripted-vendor';
import { type TestPublisher, testPublisher } from '../../support/test-publisher';

type Row = Record<string, unknown>;

const feed = testFeed('ipos', { pageSize: 1000, wideOverlapSeconds: 100_000 });
const { signal } = new AbortController();
const vendor = scriptedVendor();
let publisher: TestPublisher;

beforeEach(async () => {
  vendor.rows = [];
  publisher = await testPublisher(feed, vendor);
  await publisher.poll(); // an empty snapshot: what comes is created
});

/** Polls these rows with a decoder that reads none of them: that of a version that could not. */
async function reject(...rows: Row[]): Promise<void> {
  const { deps } = publisher.owned();
  const decode: Decoder = (page) => ({
    records: [],
    rows: [],
    rejected: page.map((row) => ({ reason: 'not read', raw: JSON.stringify(row) })),
  });
  vendor.rows = rows;
  // It says so if all rows of a poll become letters.
  await poll({ ...deps, decode }, pollRound(deps, true), signal).catch((error) =>
    expect(error.code).toBe('POLL_UNREADABLE'),
  );
}

const show = (...rows: Row[]) => {
  vendor.rows = rows;
  return publisher.poll({ wide: true });
};
/** Of a retry: what is not named is 0. */
const outcome = (found: Partial<Awaited<ReturnType<typeof retry>>>) => ({
  ...{ retried: 0, published: 0, still: 0, tooOld: 0, superseded: 0 },
  ...found,
});
const retry = () => retryDeadLetters(publisher.owned().deps);
const letters = async () =>
  (await publisher.topic('ipos.dead-letters')).filter(({ value }) => value !== null);
const events = async () =>
  (await publisher.topic('ipos'))
    .map(({ decoded }) => decoded!)
    .sort((a, b) => a.source.seq - b.source.seq)
    .map(({ op, source, before, after }) => `${source.seq} ${op} ${(after ?? before).id} ${after?.name}`);

it('a letter that is a record now is published and removed, in one transaction', async () => {
  await reject(ipo({ id: 'a', updated: 5, name: 'A' }), ipo({ id: 'b', updated: 6, name: 'B' }));
  expect(await letters()).toHaveLength(2);
  const { commit } = await publisher.sourceOffset();
  expect(await retry()).toEqual(outcome({ retried: 2, published: 2 }));
  expect(await letters()).toStrictEqual([]);
  expect(await events()).toEqual(['1 c a A', '2 c b B']);
  expect(await publisher.sourceOffset()).toMatchObject({ commit: commit + 1, seq: 2, record_count: 2 });
  expect(await retry()).toEqual(outcome({}));
});

it('a letter of more values than a row may hold stays, as such a row would become one', async () => {
  const list = Array(700_000).fill([]);
  await reject(ipo({ id: 'a', updated: 5, list }), ipo({ id: 'b', updated: 6, name: 'B' }));
  expect(await retry()).toEqual(outcome({ retried: 1, published: 1, still: 1 }));
  expect(await events()).toEqual(['1 c b B']);
});

it('published letters are reported once they are committed', async () => {
  await reject(ipo({ id: 'a', updated: 5, name: 'A' }));
  const told: unknown[] = [];
  const onOtherChanges: PollDeps['onOtherChanges'] = (changes) => void told.push(changes);
  await retryDeadLetters({ ...publisher.owned().deps, onOtherChanges });
  expect(told).toMatchObject([
    { count: 1, ops: { c: 1, u: 0, d: 0, r: 0 }, transitions: [1], polledUpdated: [5], extras: [] },
  ]);
});

it('versions of one record come in their order, and chained to what is published', async () => {
  await show(ipo({ id: 'a', updated: 10, name: 'Second' }));
  await reject(
    ipo({ id: 'a', updated: 12, name: 'Fourth' }),
    ipo({ id: 'a', updated: 9, name: 'First' }),
    ipo({ id: 'a', updated: 11, name: 'Third' }),
    ipo({ id: 'a', updated: 10, name: 'Not the second' }),
  );
  expect(await retry()).toEqual(outcome({ retried: 4, published: 2 }));
  expect(await events()).toEqual(['1 c a Second', '2 u a Third', '3 u a Fourth']);
  const [, third, fourth] = (await publisher.topic('ipos')).map(({ decoded }) => decoded!);
  expect(fourth!.before).toEqual(third!.after);
});

describe('of two versions of one second', () => {
  const [first, second] = ['First', 'Second'].map((name) => ipo({ id: 'a', updated: 10, name }));

  it.each([
    ['the later one', second!, ['1 c a First', '2 u a Second']],
    ['the earlier one', first!, ['1 c a Second', '2 u a First']],
  ])('%s comes last if the API shows it', async (_, shown, expected) => {
    await reject(first!);
    await reject(second!);
    await reject(shown);
    expect(await retry()).toEqual(outcome({ retried: 2, published: 2 }));
    expect(await events()).toEqual(expected);
  });

  it('others come before it, in the order in which they were kept', async () => {
    const third = ipo({ id: 'a', updated: 10, name: 'Third' });
    for (const version of [third, first!, second!]) await reject(version);
    vendor.rows = [first!];
    expect(await retry()).toEqual(outcome({ retried: 3, published: 3 }));
    expect(await events()).toEqual(['1 c a Third', '2 u a Second', '3 u a First']);
  });

  it('both stay if the API shows neither', async () => {
    await reject(first!);
    await reject(second!);
    vendor.rows = [ipo({ id: 'a', updated: 10, name: 'Third' })];
    expect(await retry()).toEqual(outcome({ still: 2, superseded: 2 }));
    expect(await letters()).toHaveLength(2);
  });

  it('one that a poll has not read is published if the API shows it, and not otherwise', async () => {
    await show(first!);
    await reject(second!);
    expect(await retry()).toEqual(outcome({ retried: 1, published: 1 }));
    expect(await events()).toEqual(['1 c a First', '2 u a Second']);
    await reject(ipo({ id: 'a', updated: 10, name: 'Third' }));
    vendor.rows = [second!];
    expect(await retry()).toEqual(outcome({ retried: 1 }));
    expect(await events()).toHaveLength(2);
  });
});

describe('a version that is older than what the API has shown since,', () => {
  const first = ipo({ id: 'a', updated: 10, name: 'First' });
  const letter = ipo({ id: 'a', updated: 20, name: 'Second' });
  /** As the first: only `updated` has moved, so the image stays as it was. */
  const third = { ...first, updated: 30 };

  beforeEach(async () => {
    await show(first);
    await reject(letter);
    await show(third);
  });

  it('is no news to the owner that has seen it', async () => {
    expect(await retry()).toEqual(outcome({ retried: 1 }));
    expect(await letters()).toStrictEqual([]);
    expect(await events()).toEqual(['1 c a First']);
  });

  it('is kept by an owner that has not, as long as the API does not show that very version', async () => {
    await publisher.restart();
    for (const rows of [[third], [], [{ ...letter, id: 'b' }]]) {
      vendor.rows = rows;
      expect(await retry()).toEqual(outcome({ still: 1, superseded: 1 }));
    }
    expect(await letters()).toHaveLength(1);
    expect(await events()).toEqual(['1 c a First']);

    vendor.rows = [letter];
    expect(await retry()).toEqual(outcome({ retried: 1, published: 1 }));
    expect(await events()).toEqual(['1 c a First', '2 u a Second']);
  });

  it('is published before the version that the API shows, when both are letters', async () => {
    await reject({ ...letter, updated: 40, name: 'Fourth' });
    await publisher.restart();
    vendor.rows = [{ ...letter, updated: 40, name: 'Fourth' }];
    expect(await retry()).toMatchObject({ retried: 2, published: 2, still: 0 });
    expect(await events()).toEqual(['1 c a First', '2 u a Second', '3 u a Fourth']);
  });
});

describe('a letter of a record without an image', () => {
  const first = ipo({ id: 'a', updated: 10, name: 'First' });
  const letter = ipo({ id: 'a', updated: 20, name: 'Second' });
  const other = ipo({ id: 'b', updated: 40 });
  const kept = outcome({ still: 1, superseded: 1 });

  it('does not bring back a record that is deleted, also after a restart', async () => {
    await show(first);
    await reject(letter);
    await show({ ...letter, updated: 30, name: 'Third' }, other);
    vendor.rows = [other];
    await reconciled(publisher, feed);
    const published = await events();
    expect(published.at(-1)).toMatch(/ d a /);

    expect(await retry()).toEqual(kept);
    await publisher.restart();
    expect(await retry()).toEqual(kept);
    vendor.rows = [];
    expect(await retry()).toEqual(kept);
    expect(await events()).toEqual(published);
    expect(await letters()).toHaveLength(1);
  });

  it('is published when the API shows that version again', async () => {
    await reject(letter);
    vendor.rows = [other];
    expect(await retry()).toEqual(kept);
    vendor.rows = [letter, other];
    expect(await retry()).toMatchObject({ retried: 1, published: 1, still: 0 });
  });

  it('does not go before a later version that no poll has read yet', async () => {
    await reject(letter);
    vendor.rows = [{ ...letter, updated: 30, name: 'Third' }];
    expect(await retry()).toEqual(kept);
    await publisher.poll();
    expect(await retry()).toMatchObject({ retried: 1, published: 0, still: 0 });
    expect(await events()).toEqual(['1 c a Third']);
  });

  it('is found by few requests, however many letters there are', async () => {
    await reject(...Array.from({ length: 900 }, (_, i) => ipo({ id: `${i}`, updated: 100 + i })));
    vendor.rows = vendor.rows.filter((_, i) => i % 2 === 0);
    const before = vendor.requests.length;
    expect(await retry()).toMatchObject({ retried: 450, published: 450, superseded: 450 });
    expect(vendor.requests.length - before).toBeLessThan(10);
  });
});

it('a version of before the vendor went back to an earlier one is not published', async () => {
  await show(ipo({ id: 'a', updated: 5, name: 'First' }));
  await reject(ipo({ id: 'a', updated: 20, name: 'Second' }));
  await show(ipo({ id: 'a', updated: 10, name: 'Third' }));
  expect(await retry()).toMatchObject({ retried: 0, superseded: 1 });
  expect(await events()).toEqual(['1 c a First', '2 u a Third']);
});

it('a version of before the vendor went back to an earlier letter is not published', async () => {
  const unfiltered = testFeed('ipos', {
    pageSize: 1000,
    parameters: { ...feed.parameters, updatedSince: null },
  });
  publisher = await testPublisher(unfiltered, {
    fetchPage: (_, request) => vendor.fetchPage(unfiltered, { ...request, updatedSince: 0 }, signal),
  });
  await publisher.poll();
  await publisher.poll();
  const [first, second] = [5, 20].map((updated) => ipo({ id: 'a', updated, name: `${updated}` }));
  await reject(first!);
  await reject(second!);
  vendor.rows = [first!];
  expect(await retry()).toEqual(outcome({ still: 2, superseded: 2 }));
  expect(await events()).toEqual([]);
});

it('a letter that is still not a record stays', async () => {
  vendor.rows = [{ name: 'without id', updated: 5 }, ipo({ id: 'a', updated: 6 })];
  await publisher.poll();
  const before = await letters();
  expect(before).toHaveLength(1);
  expect(await retry()).toEqual(outcome({ still: 1 }));
  expect(await letters()).toEqual(before);
});

it('a feed that began without a snapshot keeps what is older and unknown, until a snapshot or a backfill shows it', async () => {
  await show(ipo({ id: 'known', updated: 50 }));
  await movePosition(publisher.owned().deps, { begins_at: 100 });
  await reject(
    ipo({ id: 'old', updated: 90, name: 'Old' }),
    ipo({ id: 'moved', updated: 95, name: 'Before' }),
    ipo({ id: 'moved', updated: 105, name: 'After' }),
    ipo({ id: 'known', updated: 60, name: 'Known' }),
  );
  // A version that is newer makes the older one no news.
  expect(await retry()).toEqual(outcome({ retried: 3, published: 2, still: 1, tooOld: 1 }));
  expect((await events()).slice(1)).toEqual(['2 u known Known', '3 c moved After']);
  expect(await letters()).toMatchObject([{ decoded: { raw: expect.stringContaining('"Old"') } }]);

  await movePosition(publisher.owned().deps, { begins_at: 0 });
  expect(await retry()).toEqual(outcome({ retried: 1, published: 1 }));
  expect(await letters()).toStrictEqual([]);
});

it('the same content is kept again when it comes again, also after a restart', async () => {
  const row = ipo({ id: 'a', updated: 5 });
  await reject(row);
  await reject(row);
  expect(await letters()).toHaveLength(1);
  await retry();
  await reject(row);
  expect(await letters()).toHaveLength(1);
  expect(await retry()).toEqual(outcome({ retried: 1 }));
  await publisher.restart();
  expect(
    publisher.owned().deps.state.hasDeadLetter((await publisher.topic('ipos.dead-letters'))[0]?.key ?? ''),
  ).toBe(false);
  await reject(row);
  expect(await letters()).toHaveLength(1);
});

describe('over a log that takes small records only', () => {
  it('a letter that is too large stays whole until there is room; a failed commit changes nothing', async () => {
    const { vendor: small, session, owned, poll: read, topic } = await scriptedPublisher(feed, 8_000);
    const { state, images } = owned.deps;
    const notes = () => images.decode(state.image('a')!).values.notes;
    // Each image alone would fit, and so does the row.
    const versions = ['x', 'y'].map((x, i) => ipo({ id: 'a', updated: 5 + i, notes: x.repeat(4_000) }));
    small.rows = versions;
    await read();
    expect(topic('ipos.dead-letters')).toHaveLength(1);
    expect(await retryDeadLetters(owned.deps)).toEqual(outcome({ still: 1 }));

    Object.assign(session, { maxRecordBytes: () => 100_000 });
    session.failNext(new Error('cut'));
    await expect(retryDeadLetters(owned.deps)).rejects.toThrow('cut');
    expect([state.deadLetterCount, notes()]).toEqual([1, versions[0]!.notes]);
    expect(await retryDeadLetters(owned.deps)).toEqual(outcome({ retried: 1, published: 1 }));
    expect([state.deadLetterCount, notes()]).toEqual([0, versions[1]!.notes]);
  });

  it('a letter that was cut stays', async () => {
    const { vendor: small, session, owned, poll: read } = await scriptedPublisher(feed, 8_000);
    small.rows = [ipo({ id: 'a', updated: 5, notes: 'x'.repeat(50_000) })];
    await read();
    Object.assign(session, { maxRecordBytes: () => 1_000_000 });
    expect(await retryDeadLetters(owned.deps)).toEqual(outcome({ still: 1 }));
  });
});
