import { answerAges } from '../../../src/source/answer-age';
import { sendJson } from '../../support/http-server';
import { feed, never, page, server, source, stopAll } from './client-fixture';

afterEach(stopAll);

describe('the age of an answer', () => {
  let nowMs = 0;
  const date = (seconds: number) => ({ date: new Date(1_700_000_000_000 + seconds * 1_000).toUTCString() });
  const make = () => answerAges(() => nowMs);
  beforeEach(() => {
    nowMs = 0;
  });

  it.each([
    [{}, 0],
    [{ age: '0' }, 0],
    [{ age: '7' }, 7_000],
    [{ age: '7, 12' }, 12_000],
    [{ age: 'old' }, 0],
    [{ age: '7', date: 'Sun, 01 Mar 2026 12:00:00 GMT' }, 7_000],
  ])('of the headers %j is %d ms', (headers, expected) => {
    const ages = make();
    expect(ages.ageOf('a', headers, 1_000_000)).toBe(expected);
    expect(ages.hasCache).toBe(expected > 0);
  });

  it('is shown by a Date that comes again from the same address', () => {
    const ages = make();
    const ask = (address: string, seconds: number) => ages.ageOf(address, date(seconds), nowMs);
    expect(ask('a', 0)).toBe(0);
    nowMs = 1_500;
    expect(ask('a', 0)).toBe(0);
    nowMs = 60_000;
    expect([ask('a', 0), ask('b', 0), ask('a', 60)]).toEqual([60_000, 0, 0]);
    nowMs = 90_000;
    // Two caches that take turns.
    expect([ask('a', 0), ask('a', 60)]).toEqual([90_000, 30_000]);
  });

  it('has whole milliseconds, and no answer is older than 1970', () => {
    const now = 1_700_000_060_000;
    const ages = answerAges(() => nowMs / 3);
    ages.ageOf('a', date(0), now);
    nowMs = 10_000;
    expect(ages.ageOf('a', date(0), now + 10_000)).toBe(3_333);
    expect(ages.ageOf('b', { age: '99999999999999999999' }, now)).toBe(now);
  });

  it('is not shown by servers whose clocks differ, nor by clocks that disagree on the time that has passed', () => {
    const ages = make();
    for (const seconds of [0, -10, 3, -7]) {
      expect(ages.ageOf('a', date(seconds), nowMs)).toBe(0);
      nowMs += 3_000;
    }
    expect(ages.ageOf('b', date(50), 0)).toBe(0);
    nowMs += 60_000;
    expect(ages.ageOf('b', date(50), 1_000)).toBe(0);
    expect(ages.hasCache).toBe(false);
  });

  it('does not need memory for every address', () => {
    const ages = make();
    ages.ageOf('a', date(0), nowMs);
    for (let i = 0; i < 500; i++) ages.ageOf(`b${i}`, date(0), nowMs);
    nowMs = 10_000;
    expect(ages.ageOf('b499', date(0), nowMs)).toBe(10_000);
    expect(ages.ageOf('a', date(0), nowMs)).toBe(0);
  });
});

it('a page says its age, and from then on requests say in each way that no cache is wanted', async () => {
  const api = await server((_, response, index) =>
    sendJson(response, { ipos: [] }, 200, index === 1 ? { age: '30' } : {}),
  );
  const client = source(api.url);
  const ages: unknown[] = [];
  for (let i = 0; i < 3; i++) ages.push((await client.fetchPage(feed, page, never)).agedMs);
  expect(ages).toEqual([0, 30_000, 0]);
  expect(api.requests.map(({ headers }) => [headers['cache-control'], headers.pragma])).toEqual([
    ['no-cache', undefined],
    ['no-cache', undefined],
    ['no-cache, no-store, max-age=0', 'no-cache'],
  ]);
  expect(new Set(api.requests.map(({ url }) => url)).size).toBe(1);
});
