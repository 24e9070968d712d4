import type { FeedStanding } from '../../../src/admin/feed-board';
import { ready, silence } from '../../../src/admin/health';
import type { FeedState } from '../../../src/state/feed-state';
import { firstSourceOffset } from '../../../src/state/source-offset';
import { testFeed } from '../../support/feeds';

const feed = testFeed('ipos', { pollIntervalMs: 60_000 });

function standing(change: Partial<FeedStanding> = {}): FeedStanding {
  const offset = { ...firstSourceOffset('ipos', 'a', 's'), snapshot: 'complete' as const };
  return {
    feed,
    phase: 'owned',
    failure: null,
    drift: null,
    lastChangeMs: null,
    lastSignMs: 0,
    state: { offset: { ...offset, last_complete_scan_ms: Date.now() } } as FeedState,
    ...change,
  };
}
const waiting = standing({ phase: 'waiting', state: null });
const readyWith = (one: FeedStanding, owners: ReadonlyMap<string, string> | null) =>
  ready({ feeds: [one], tell() {} }, async () => owners);

it('a publisher whose feed is up to date is ready, without asking other instances', async () => {
  const health = await ready({ feeds: [standing()], tell() {} }, () => Promise.reject(new Error('asked')));
  expect(health).toMatchObject({ ok: true, reasons: [], feeds: { ipos: { condition: 'up-to-date' } } });
});

it('a publisher with a parked feed is not ready, and its answer holds the code and no text of the error', async () => {
  const failure = { code: 'SOURCE_UNAUTHORIZED', parks: true, what: 'GET http://api answered 401' };
  expect(await readyWith(standing({ failure }), null)).toEqual({
    ok: false,
    reasons: ['ipos: parked by SOURCE_UNAUTHORIZED, tried again slowly'],
    feeds: {
      ipos: {
        ready: false,
        condition: 'parked',
        reason: 'parked by SOURCE_UNAUTHORIZED, tried again slowly',
      },
    },
  });
});

it.each([
  ['another instance has the feed', new Map([['ipos', 'host:1']]), true, 'standby'],
  ['no instance has the feed', new Map<string, string>(), false, 'no-owner'],
  ['the instances cannot be asked', null, false, 'owner-unknown'],
])('an instance that waits while %s is ready: %s', async (_, owners, ok, condition) => {
  expect(await readyWith(waiting, owners)).toMatchObject({ ok, feeds: { ipos: { condition } } });
});

describe('the loop of a feed seems to stand still', () => {
  const minutes = 60_000;
  it.each([
    ['after a quarter of an hour of nothing', standing(), 15 * minutes + 1, true],
    ['not before', standing(), 15 * minutes, false],
    [
      'after ten intervals when these are longer',
      standing({ feed: { ...feed, pollIntervalMs: 5 * minutes } }),
      50 * minutes + 1,
      true,
    ],
    [
      'not within ten intervals',
      standing({ feed: { ...feed, pollIntervalMs: 5 * minutes } }),
      50 * minutes,
      false,
    ],
    ['while it restores too', standing({ phase: 'restoring' }), 16 * minutes, true],
    ['never while it waits for its turn', waiting, 1_000 * minutes, false],
  ] as const)('%s', (_, one, clockMs, isSilent) => {
    expect(silence(one, clockMs) !== null).toBe(isSilent);
  });

  it('with the seconds', () => expect(silence(standing(), 16 * minutes)).toBe('has done nothing for 960 s'));
});
