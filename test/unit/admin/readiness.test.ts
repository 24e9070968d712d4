import type { FeedStanding } from '../../../src/admin/feed-board';
import { readiness, silence } from '../../../src/admin/readiness';
import type { FeedState } from '../../../src/state/feed-state';
import { firstSourceOffset, type SourceOffset } from '../../../src/state/source-offset';
import { testFeed } from '../../support/feeds';

const NOW = 1_790_000_000_000;
const INTERVAL = 60_000;
const feed = testFeed('ipos', { pollIntervalMs: INTERVAL });

const stateOf = (offset: Partial<SourceOffset>) =>
  ({ offset: { ...firstSourceOffset('ipos', 'a', 's'), snapshot: 'complete', ...offset } }) as FeedState;

function standing(change: Partial<FeedStanding> = {}): FeedStanding {
  return {
    ...{ feed, phase: 'owned', failure: null, drift: null, lastChangeMs: null, lastSignMs: 0 },
    state: stateOf({ last_complete_scan_ms: NOW - INTERVAL }),
    ...change,
  };
}

const waiting = standing({ phase: 'waiting', state: null });
const failure = { code: 'SOURCE_TIMEOUT', parks: false } as const;
const parked = { code: 'SOURCE_UNAUTHORIZED', parks: true } as const;
const scanned = (ms: number | null, more: Partial<SourceOffset> = {}) => ({
  state: stateOf({ last_complete_scan_ms: ms, ...more }),
});

it.each([
  ['was just read', standing(), 'up-to-date'],
  ['was read three intervals ago', standing(scanned(NOW - 3 * INTERVAL)), 'up-to-date'],
  ['failed since, but not for long', standing({ failure }), 'up-to-date'],
  ['was read by a clock that is ahead', standing(scanned(NOW + INTERVAL)), 'up-to-date'],
  ['is paused by an operator, however long', standing(scanned(NOW - 1e9, { paused: true })), 'paused'],
])('a feed is ready that %s', (_, one, condition) => {
  expect(readiness(one, 'nobody', NOW)).toMatchObject({ ready: true, condition });
});

it('an instance that waits while another has the feed is ready, and says so', () => {
  expect(readiness(waiting, 'another instance', NOW)).toEqual({
    ready: true,
    condition: 'standby',
    reason: 'another instance has it; this one takes over when that ends',
  });
  // What kept this one from it is not what the feed suffers from.
  expect(readiness({ ...waiting, failure: parked }, 'another instance', NOW).ready).toBe(true);
});

it.each([
  ['nobody has', waiting, 'nobody', 'no-owner', 'no live instance has it'],
  ['nobody can be asked about', waiting, 'unknown', 'owner-unknown', 'who has it cannot be asked now'],
  [
    'is being restored',
    standing({ phase: 'restoring', state: null, failure }),
    'nobody',
    'restoring',
    'its state is being read back, last failure: SOURCE_TIMEOUT',
  ],
  [
    'is parked, though it was read a minute ago',
    standing({ failure: parked }),
    'nobody',
    'parked',
    'parked by SOURCE_UNAUTHORIZED, tried again slowly',
  ],
  [
    'could not be taken over and parks',
    standing({ phase: 'restoring', state: null, failure: parked }),
    'nobody',
    'parked',
    'parked by SOURCE_UNAUTHORIZED, tried again slowly',
  ],
  [
    'was read longer than three intervals ago',
    standing({ ...scanned(NOW - 3 * INTERVAL - 1), failure }),
    'nobody',
    'behind',
    'last completely read 180 s ago, last failure: SOURCE_TIMEOUT',
  ],
  [
    'is in its first snapshot',
    standing(scanned(null, { snapshot: 'running' })),
    'nobody',
    'behind',
    'never completely read yet, snapshot running',
  ],
] as const)('a feed is not ready that %s', (_, one, elsewhere, condition, reason) => {
  expect(readiness(one, elsewhere, NOW)).toEqual({ ready: false, condition, reason });
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
