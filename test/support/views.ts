import type { ChangeView, FeedView, PublisherView, TransitionView } from '../../src/admin/dashboard/view';

/** Events for the dashboard's page in the healthy case. A test overrides single values. */

export function aPublisher(given: Partial<PublisherView> = {}): PublisherView {
  return {
    instance: 'desk-1:4711',
    version: '0.1.0',
    log: '/var/lib/highwater',
    logKind: 'embedded',
    api: 'https://api.example.com',
    startedAtMs: Date.now() - 3 * 3_600_000,
    nowMs: Date.now(),
    ...given,
  };
}

export function aFeed(feed: string, given: Partial<FeedView> = {}): FeedView {
  return {
    feed,
    condition: 'up-to-date',
    reason: 'completely read within three intervals',
    problem: null,
    being_read: false,
    owner: 'desk-1:4711',
    isOwn: true,
    high_water_mark: Math.floor(Date.now() / 1_000) - 95,
    last_complete_scan_ms: Date.now() - 12_000,
    poll_interval_ms: 60_000,
    snapshot: 'complete',
    backfill: null,
    backfill_done: null,
    paused: false,
    parked: null,
    behind: false,
    seconds_since_complete_scan: 12,
    commit: 1,
    seq: 1,
    incarnation: '3f2a91c0',
    records: 12_345,
    changesPerMinute: Array.from({ length: 60 }, (_, at) => Math.round(8 + 7 * Math.sin(at / 5))),
    requests: { lastMinute: 4, allowedPerMinute: 600, retriesLastMinute: 0 },
    errors: [],
    dead_letters: 0,
    driftedPaths: 0,
    drift: '',
    ...given,
  };
}

let n = 0;

/** An update of an IPO. */
export function aChange(given: Partial<ChangeView> = {}): ChangeView {
  n += 1;
  return {
    n,
    feed: 'ipos',
    key: `key-${n}`,
    op: 'u',
    origin: 'poll',
    symbol: 'HUXIO',
    title: 'Zelinnix Software Group',
    observedAtMs: Date.now(),
    updated: Math.floor(Date.now() / 1_000) - 40,
    seq: n,
    fields: [{ field: 'date', before: '2026-02-03', after: '2026' }],
    moreFields: 0,
    transitions: [],
    ...given,
  };
}

/** A status that moves on. */
export function aTransition(given: Partial<TransitionView> = {}): TransitionView {
  return {
    type: 'DealStatusChanged',
    mark: '◆',
    tone: 'info',
    before: 'Pending',
    after: 'Priced',
    ...given,
  };
}
