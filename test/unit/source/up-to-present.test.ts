import { HighwaterError } from '../../../src/errors';
import { type PageRequest, type Source, sourceUpToPresent } from '../../../src/source/source';
import { testFeed } from '../../support/feeds';

const { signal } = new AbortController();
const seconds = (): number => Math.floor(Date.now() / 1_000);

/** An API that refuses ranges that end in the future by its own clock. */
function refusing(aheadSeconds: number) {
  const asked: PageRequest[] = [];
  const now = () => seconds() + aheadSeconds;
  const source: Source = {
    async fetchPage(_feed, request) {
      asked.push(request);
      if ((request.updatedUntil ?? 0) > now())
        throw new HighwaterError('SOURCE_REQUEST_REFUSED', 'End date may not be in the future');
      return { rows: [], next: null, serverDateMs: now() * 1_000, receivedAtMs: Date.now() };
    },
  };
  return { asked, source: sourceUpToPresent(source), now };
}

const range = (since: number, until: number): PageRequest => ({
  updatedSince: since,
  updatedUntil: until,
  pageOffset: 0,
  pageSize: 10,
});

it('an API that refuses a range that ends in the future is asked up to the present by its own clock', async () => {
  const { asked, source, now } = refusing(-30);
  const feed = testFeed('ipos');
  const since = now() - 1_000;
  await source.fetchPage(feed, range(since, since + 500), signal);
  await source.fetchPage(feed, range(since, since + 5_000), signal);
  await source.fetchPage(feed, range(since, since + 5_000), signal);
  const ends = asked.map(({ updatedUntil }) => updatedUntil!);
  // Only the first such range is refused.
  expect(ends.filter((end) => end > now())).toEqual([since + 5_000]);
  expect(ends).toHaveLength(4);
});

it('pages that a cursor leads to are asked for up to the same end as the first one', async () => {
  jest.useFakeTimers({ now: 1_790_000_000_000 });
  try {
    const { asked, source, now } = refusing(0);
    const feed = testFeed('ipos');
    const first = range(now() - 100, now() + 500);
    await source.fetchPage(feed, first, signal);
    jest.setSystemTime(1_790_000_007_000);
    await source.fetchPage(feed, { ...first, continuation: 'next' }, signal);
    await source.fetchPage(feed, first, signal);
    const ends = asked.map(({ updatedUntil }) => updatedUntil! - 1_790_000_000);
    expect(ends).toEqual([500, 0, 0, 7]);
  } finally {
    jest.useRealTimers();
  }
});

it('a range from the future on, a range in the past, and a request without a range stay as they are', async () => {
  const { asked, source, now } = refusing(0);
  const feed = testFeed('ipos');
  await source.fetchPage(feed, range(0, 500), signal);
  const { updatedUntil: _, ...open } = range(5, 0);
  await source.fetchPage(feed, open, signal);
  const ahead = source.fetchPage(feed, range(now() + 100, now() + 200), signal);
  await expect(ahead).rejects.toMatchObject({ code: 'SOURCE_REQUEST_REFUSED' });
  expect(asked).toHaveLength(3);
});

it('a range that is refused for another reason is refused', async () => {
  let requests = 0;
  const source = sourceUpToPresent({
    fetchPage: async () => {
      requests++;
      throw new HighwaterError('SOURCE_REQUEST_REFUSED', 'no such page size');
    },
  });
  const asked = source.fetchPage(testFeed('ipos'), range(5, seconds() + 500), signal);
  await expect(asked).rejects.toThrow('no such page size');
  expect(requests).toBe(2);
});
