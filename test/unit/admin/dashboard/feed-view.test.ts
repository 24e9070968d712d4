import { type FeedFacts, feedView } from '../../../../src/admin/dashboard/feed-view';
import { type FeedStanding, feedBoard } from '../../../../src/admin/feed-board';
import { createRedactor } from '../../../../src/secrets/redaction';
import type { FeedState } from '../../../../src/state/feed-state';
import { firstSourceOffset, type SourceOffset } from '../../../../src/state/source-offset';
import { testFeed } from '../../../support/feeds';

const NOW = 1_790_000_000_000;
const INTERVAL = 60_000;
const feed = testFeed('ipos', { pollIntervalMs: INTERVAL });

const offset = (change: Partial<SourceOffset> = {}): SourceOffset => ({
  ...firstSourceOffset('ipos', 'a', 's'),
  snapshot: 'complete',
  last_complete_scan_ms: NOW - INTERVAL,
  high_water_mark: 1_790_000,
  record_count: 7,
  ...change,
});

const stateOf = (change: Partial<SourceOffset>) => ({ offset: offset(change), recordCount: 8 }) as FeedState;

function standing(change: Partial<FeedStanding> = {}): FeedStanding {
  const board = feedBoard([feed], async () => null);
  const [{ activity }] = board.feeds as [FeedStanding];
  activity.changes.add(1);
  activity.requests.add(2);
  activity.retries.add(1);
  const error = { times: 3, lastAtMs: 1, lasts: true };
  activity.errors.set('SOURCE_TIMEOUT', { ...error, what: 'late' });
  activity.errors.set('SOURCE_UNAUTHORIZED', { ...error, what: 'ipos: answered 401\n at x' });
  return { ...board.feeds[0]!, phase: 'owned', state: stateOf({}), ...change };
}
const waiting = { phase: 'waiting', state: null } as const;
const failing = (code: 'SOURCE_TIMEOUT' | 'SOURCE_UNAUTHORIZED', parks: boolean) => ({
  failure: { code, parks, what: 'answered 401' },
});

function view(change: Partial<FeedStanding>, facts: Partial<FeedFacts> = {}) {
  return feedView({
    standing: standing(change),
    owners: new Map([['ipos', 'other:1']]),
    stored: null,
    deadLetters: 0,
    deadLetterReason: null,
    instance: 'own:2',
    allowedPerMinute: 60,
    nowMs: NOW,
    redact: createRedactor(['s3cret-token']),
    ...facts,
  });
}

it('shows an own feed as its owner knows it', () => {
  expect(view({})).toMatchObject({
    feed: 'ipos',
    condition: 'up-to-date',
    problem: null,
    owner: 'own:2',
    isOwn: true,
    records: 8,
    high_water_mark: 1_790_000,
    last_complete_scan_ms: NOW - INTERVAL,
    dead_letters: 0,
    snapshot: 'complete',
    changesPerMinute: [...new Array(59).fill(0), 1],
    errors: [
      { code: 'SOURCE_UNAUTHORIZED', what: 'answered 401', times: 3, lastAtMs: 1 },
      { code: 'SOURCE_TIMEOUT', what: 'late' },
    ],
    requests: { lastMinute: 2, allowedPerMinute: 60, retriesLastMinute: 1 },
  });
});

it("shows another's feed as the log has it, and who has it", () => {
  expect(view(waiting, { stored: offset(), deadLetters: 2 })).toMatchObject({
    condition: 'standby',
    owner: 'other:1',
    isOwn: false,
    records: 7,
    high_water_mark: 1_790_000,
    dead_letters: 2,
    last_complete_scan_ms: NOW - INTERVAL,
  });
  expect(view(waiting, { deadLetters: null })).toMatchObject({
    problem: null,
    high_water_mark: null,
    dead_letters: null,
  });
});

const stored = (change: Partial<SourceOffset>) => view(waiting, { stored: offset(change) });

it('gives the cause of a problem in one sentence', () => {
  expect(view(failing('SOURCE_UNAUTHORIZED', true)).problem!.cause).toBe('The API refused the token.');
  const { cause, what } = view({}, { deadLetters: 3 }).problem!;
  expect(cause).toBe(what);
});

it("shows no secret of its own in what another's feed suffers from", () => {
  const last_error = 'SOURCE_UNAUTHORIZED: answered 401 to s3cret-token';
  const { problem } = stored({ parked: 'SOURCE_UNAUTHORIZED', last_error });
  expect(problem!.what).toBe('answered 401 to [redacted]');
});

it('does not say that an error lasts which another instance has taken the feed away with', () => {
  expect(view({}).errors[0]!.lasts).toBe(false);
  expect(view(failing('SOURCE_UNAUTHORIZED', true)).errors[0]!.lasts).toBe(true);
});

it('says of a failure since when, when it is tried again, and where to read about it', () => {
  const failure = { ...failing('SOURCE_UNAUTHORIZED', true).failure, sinceMs: NOW - 5, retryAtMs: NOW + 5 };
  expect(view({ failure }).problem).toMatchObject({
    see: 'docs/runbook/token-rotated.md',
    sinceMs: NOW - 5,
    retryAtMs: NOW + 5,
  });
  expect(view(failing('SOURCE_UNAUTHORIZED', true)).problem).toMatchObject({
    sinceMs: null,
    retryAtMs: null,
  });
});
