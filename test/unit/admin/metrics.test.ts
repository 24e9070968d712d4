import { feedBoard } from '../../../src/admin/feed-board';
import { type MetricName, type MetricSpec, metricTable } from '../../../src/admin/metrics/metric-table';
import { createMetrics } from '../../../src/admin/metrics/metrics';
import type { PublishedChanges } from '../../../src/pipeline/changes/page-changes';
import type { PageReport } from '../../../src/pipeline/poll';
import type { PublisherEvent } from '../../../src/runtime/publisher-events';
import type { FeedState } from '../../../src/state/feed-state';
import { firstSourceOffset } from '../../../src/state/source-offset';
import { testFeed } from '../../support/feeds';
import { samplesOf } from '../../support/metrics-text';

const feeds = [
  testFeed('ipos', { pollIntervalMs: 30_000, reconcileEveryMs: 3_600_000 }),
  testFeed('insights', {}),
];
let metrics: ReturnType<typeof createMetrics>;
let owners: Map<string, string>;
let throttledMs: number;
let tell: (event: PublisherEvent) => void;

beforeEach(() => {
  const board = feedBoard(feeds, async () => owners);
  owners = new Map();
  throttledMs = 0;
  const build = { version: '1.2.3', log: 'embedded' } as const;
  metrics = createMetrics(board, build, { throttledMs: () => throttledMs });
  tell = (event) => {
    board.tell(event);
    metrics.tell(event);
  };
});

const value = async (name: string, labels: object = { feed: 'ipos' }) =>
  samplesOf(await metrics.text(), name).find(
    (sample) => JSON.stringify(sample.labels) === JSON.stringify(labels),
  )?.value;

const state = {
  offset: {
    ...firstSourceOffset('ipos', 'a', 's'),
    last_complete_scan_ms: Date.now() - 5_000,
    high_water_mark: 1_790_000_000,
    snapshot: 'complete',
    last_reconcile_ms: 1_790_000_002_000,
  },
  storedOffset: { ...firstSourceOffset('ipos', 'a', 's'), ts_ms: 1_790_000_001_500 },
  recordCount: 7,
  imageBytes: 700,
} as FeedState;
const drift = {
  note() {},
  found: () => ({ paths: [{ path: 'a', expected: null, type: 'text', count: 4 }], others: 1 }) as const,
};
const owned = { kind: 'acquired', feed: 'ipos', state, drift } as const;

function page(change: Partial<PageReport>): PublisherEvent {
  const report = { feed: feeds[0]!, state, rows: 0, changes: none, letters: [], observedAtMs: 0, ...change };
  return { kind: 'page', feed: 'ipos', report: report as unknown as PageReport };
}
const none: PublishedChanges = {
  count: 0,
  ops: { c: 0, u: 0, d: 0, r: 0 },
  transitions: [0],
  polledUpdated: [],
  ordinary: { c: 0, u: 0 },
  missed: [],
  extras: [],
};

it('keep to the conventions of Prometheus', () => {
  for (const [name, { type, labels }] of Object.entries<MetricSpec>(metricTable)) {
    expect(name).toMatch(/^highwater_[a-z_]+$/);
    expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
    if (type === 'histogram') expect(name).toMatch(/_seconds$/);
    expect(name).not.toMatch(/_(ms|millis|minutes|kb|mb)/);
    expect(labels.length).toBeLessThanOrEqual(2);
  }
});

it('has every metric of the table, and of its own no other', async () => {
  const text = await metrics.text();
  const registered = [...text.matchAll(/^# TYPE (highwater_\w+) (\w+)$/gm)].map(
    ([, name, type]) => `${name} ${type}`,
  );
  const listed = Object.entries<MetricSpec>(metricTable).map(([name, { type }]) => `${name} ${type}`);
  expect(registered.sort()).toEqual(listed.sort());
  expect(text).toContain('process_resident_memory_bytes');
  expect(text).toContain('nodejs_eventloop_lag_seconds');
});

it('counts for how long quotas have held the publisher back, once', async () => {
  throttledMs = 1_500;
  await metrics.text();
  throttledMs = 2_500;
  expect(await value('highwater_kafka_throttled_seconds_total', {})).toBe(2.5);
});

it('counts what pages bring', async () => {
  const polledUpdated = [1_790_000_000, 1_790_000_004, 1_790_000_099];
  const changes = { ...none, count: 4, ops: { c: 1, u: 2, d: 0, r: 1 }, transitions: [1], polledUpdated };
  tell(page({ rows: 10, changes, letters: [{}] as never, observedAtMs: 1_790_000_008_500 }));
  tell(page({ rows: 3 }));
  expect(await value('highwater_pages_total')).toBe(2);
  expect(await value('highwater_records_read_total')).toBe(13);
  expect(await value('highwater_dead_letters_total')).toBe(1);
  const ops = await Promise.all(
    ['c', 'u', 'r', 'd'].map((op) => value('highwater_changes_total', { feed: 'ipos', op })),
  );
  expect(ops).toEqual([1, 2, 1, 0]);
  expect(await value('highwater_transitions_total', { feed: 'ipos', type: 'DealStatusChanged' })).toBe(1);
  // Only for polls, and never below 0.
  expect(await value('highwater_observation_latency_seconds_count')).toBe(3);
  expect(await value('highwater_observation_latency_seconds_sum')).toBeCloseTo(8.5 + 4.5 + 0, 6);
  expect(await value('highwater_last_change_timestamp_seconds')).toBe(1_790_000_008.5);
});

it('counts what is committed beside pages, as no answer of a poll', async () => {
  const polledUpdated = [1_790_000_000];
  const changes = { ...none, count: 2, ops: { c: 0, u: 1, d: 1, r: 0 }, transitions: [1], polledUpdated };
  tell({ kind: 'otherChanges', feed: 'ipos', changes, observedAtMs: 1_790_000_009_000 });
  expect(await value('highwater_changes_total', { feed: 'ipos', op: 'd' })).toBe(1);
  expect(await value('highwater_changes_total', { feed: 'ipos', op: 'u' })).toBe(1);
  expect(await value('highwater_transitions_total', { feed: 'ipos', type: 'DealStatusChanged' })).toBe(1);
  expect(await value('highwater_last_change_timestamp_seconds')).toBe(1_790_000_009);
  expect(await value('highwater_observation_latency_seconds_count')).toBe(0);
  expect(await value('highwater_pages_total')).toBe(0);
});

it('counts requests by class, retries and failures by code, polls by outcome', async () => {
  const of = { feed: 'ipos' };
  for (const status of [200, 204, 401, 503, null]) tell({ kind: 'requested', ...of, status, seconds: 0.25 });
  tell({ kind: 'retried', ...of, reason: 'SOURCE_UNAVAILABLE' });
  tell({ kind: 'touched', ...of });
  tell({ kind: 'polled', ...of, seconds: 2, result: { complete: true } as never });
  tell({ kind: 'failed', ...of, code: 'LOG_FENCED', parks: false, what: '', retryInMs: null });
  tell({ kind: 'transaction', ...of, failure: null, seconds: 0.5 });
  tell({ kind: 'transaction', ...of, failure: 'LOG_FULL', seconds: 9 });
  const classes = ['2xx', '4xx', '5xx', 'none'];
  expect(
    await Promise.all(classes.map((status) => value('highwater_api_requests_total', { ...of, status }))),
  ).toEqual([2, 1, 1, 1]);
  expect(await value('highwater_api_request_duration_seconds_sum')).toBe(1.25);
  expect(await value('highwater_api_retries_total', { ...of, reason: 'SOURCE_UNAVAILABLE' })).toBe(1);
  expect(await value('highwater_touches_total')).toBe(1);
  expect(await value('highwater_polls_total', { ...of, result: 'complete' })).toBe(1);
  expect(await value('highwater_poll_duration_seconds_sum')).toBe(2);
  expect(await value('highwater_fenced_total')).toBe(1);
  expect(await value('highwater_failures_total', { ...of, reason: 'LOG_FENCED' })).toBe(1);
  expect(await value('highwater_transaction_duration_seconds_sum')).toBe(0.5);
  expect(await value('highwater_transaction_failures_total', { ...of, reason: 'LOG_FULL' })).toBe(1);
});

it('shows of a feed what its owner knows, and nothing of one that another instance has', async () => {
  tell(owned);
  const gauges: readonly (readonly [MetricName, number])[] = [
    ['highwater_feed_owned', 1],
    ['highwater_high_water_mark_timestamp_seconds', 1_790_000_000],
    ['highwater_heartbeat_timestamp_seconds', 1_790_000_001.5],
    ['highwater_tracked_records', 7],
    ['highwater_state_bytes', 700],
    ['highwater_poll_interval_seconds', 30],
    ['highwater_feed_paused', 0],
    ['highwater_feed_parked', 0],
    ['highwater_drift_paths', 1],
    ['highwater_drifted_values_total', 5],
    ['highwater_reconcile_timestamp_seconds', 1_790_000_002],
    ['highwater_reconcile_interval_seconds', 3_600],
    ['highwater_complete_scan_timestamp_seconds', state.offset.last_complete_scan_ms! / 1_000],
  ];
  for (const [name, expected] of gauges) expect([name, await value(name)]).toEqual([name, expected]);
  const age = await value('highwater_seconds_since_complete_scan');
  expect(age).toBeGreaterThanOrEqual(5);
  expect(age).toBeLessThan(120);

  tell({ kind: 'released', feed: 'ipos' });
  const text = await metrics.text();
  expect(await value('highwater_feed_owned')).toBe(0);
  for (const name of [
    'highwater_tracked_records',
    'highwater_heartbeat_timestamp_seconds',
    'highwater_poll_interval_seconds',
  ])
    expect(samplesOf(text, name)).toStrictEqual([]);
  // Counted once, however often it is looked at.
  expect(await value('highwater_drifted_values_total')).toBe(5);
});

it('a paused feed is not parked, nor is one that another instance has', async () => {
  const code = 'SOURCE_UNAUTHORIZED';
  const parked = { kind: 'failed', feed: 'ipos', code, parks: true, what: '', retryInMs: null } as const;
  tell({ ...owned, state: { ...state, offset: { ...state.offset, paused: true } } });
  tell(parked);
  expect([await value('highwater_feed_parked'), await value('highwater_feed_paused')]).toEqual([0, 1]);
  tell({ kind: 'released', feed: 'ipos' });
  tell({ kind: 'waiting', feed: 'ipos' });
  tell(parked);
  expect(await value('highwater_feed_parked')).toBe(1);
  owners.set('ipos', 'host:1');
  expect(await value('highwater_feed_parked')).toBe(0);
});

it('begins counters at 0, so that rate() sees their first count', async () => {
  const text = await metrics.text();
  for (const name of ['highwater_changes_total', 'highwater_fenced_total', 'highwater_dead_letters_total'])
    expect(samplesOf(text, name).map(({ value: at }) => at)).toContain(0);
});
