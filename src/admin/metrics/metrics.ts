import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { DeliveryStatus } from '../../delivery/status';
import { comparedMs, type FeedStatus } from '../../feed-status/feed-status';
import type { LogSpace } from '../../log/local/file/reader-connection';
import type { PublishedChanges } from '../../pipeline/changes/page-changes';
import type { PageReport } from '../../pipeline/poll';
import type { PublisherEvent } from '../../runtime/publisher-events';
import type { Op } from '../../types';
import { boardStatus, type FeedBoard, type FeedStanding } from '../feed-board';
import { type MetricName, type MetricSpec, metricTable } from './metric-table';

export interface BuildInfo {
  readonly version: string;
  readonly log: 'embedded' | 'kafka';
}

/** Figures of the log that is published to. */
export interface LogMeasures {
  /** Space of the embedded log. */
  readonly space?: () => LogSpace | null;
  /** How long, in ms since the start, quotas of the brokers have held this process back. */
  readonly throttledMs?: () => number;
}

type Labels = Readonly<Record<string, string>>;

type NamesOf<Type extends MetricSpec['type']> = {
  [Name in MetricName]: (typeof metricTable)[Name]['type'] extends Type ? Name : never;
}[MetricName];

/** The metrics of one publisher, in a registry of their own. */
export function createMetrics(
  board: FeedBoard,
  build: BuildInfo,
  { space, throttledMs }: LogMeasures = {},
  deliveries: () => Promise<readonly DeliveryStatus[]> = async () => [],
) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const metrics = new Map<string, Counter | Gauge | Histogram>(
    Object.entries<MetricSpec>(metricTable).map(([name, { type, labels, help, buckets }]) => {
      const options = { name, help: `${help}.`, labelNames: [...labels], registers: [registry] };
      if (type === 'counter') return [name, new Counter(options)];
      if (type === 'gauge') return [name, new Gauge(options)];
      return [name, new Histogram({ ...options, buckets: [...(buckets ?? [])] })];
    }),
  );
  const add = (name: NamesOf<'counter'>, labels: Labels, count = 1) =>
    (metrics.get(name) as Counter).inc(labels, count);
  const observe = (name: NamesOf<'histogram'>, labels: Labels, value: number) =>
    (metrics.get(name) as Histogram).observe(labels, value);

  const transitionsOf = new Map(board.feeds.map(({ feed }) => [feed.name, feed.transitions]));

  function countChanges(feed: string, changes: PublishedChanges) {
    for (const op of ops) add('highwater_changes_total', { feed, op }, changes.ops[op]);
    for (const [index, count] of changes.transitions.entries())
      add('highwater_transitions_total', { feed, type: transitionsOf.get(feed)![index]!.type }, count);
  }
  function countPage(feed: string, { rows, letters, changes, observedAtMs }: PageReport) {
    add('highwater_pages_total', { feed });
    add('highwater_records_read_total', { feed }, rows);
    add('highwater_dead_letters_total', { feed }, letters.length);
    countChanges(feed, changes);
    for (const updated of changes.polledUpdated) {
      // The vendor's clock may be ahead.
      const seconds = Math.max(0, observedAtMs / 1_000 - updated);
      observe('highwater_observation_latency_seconds', { feed }, seconds);
    }
  }

  // A counter that appears with its first count hides that count from rate().
  for (const { feed } of board.feeds) {
    const of = { feed: feed.name };
    for (const op of ops) add('highwater_changes_total', { ...of, op }, 0);
    for (const { type } of feed.transitions) add('highwater_transitions_total', { ...of, type }, 0);
    for (const result of ['complete', 'incomplete']) add('highwater_polls_total', { ...of, result }, 0);
    for (const status of ['2xx', '4xx', '5xx', 'none'])
      add('highwater_api_requests_total', { ...of, status }, 0);
    for (const [name, metric] of metrics) {
      const { labels }: MetricSpec = metricTable[name as MetricName];
      if (metric instanceof Histogram) metric.zero(of);
      if (metric instanceof Counter && labels.join() === 'feed') metric.inc(of, 0);
    }
  }
  (metrics.get('highwater_build_info') as Gauge).set({ ...build }, 1);

  async function collect(): Promise<void> {
    const statuses = await boardStatus(board);
    const { total, free } = space?.() ?? { total: 0, free: 0 };
    const measured: PresentValues = {
      ...feedValues(board.feeds, statuses, Date.now()),
      ...deliveryValues(await deliveries()),
      highwater_log_bytes: [[{}, total]],
      highwater_log_free_bytes: [[{}, free]],
      highwater_kafka_throttled_seconds_total: [[{}, (throttledMs?.() ?? 0) / 1_000]],
    };
    for (const [name, values] of Object.entries(measured)) {
      const metric = metrics.get(name) as Counter | Gauge;
      // A feed that has gone to another instance leaves nothing behind.
      metric.reset();
      for (const [labels, value] of values)
        if (value !== null && value !== undefined) metric.inc(labels, value);
    }
  }

  return {
    contentType: registry.contentType,
    tell(event: PublisherEvent) {
      const { feed } = event;
      switch (event.kind) {
        case 'page':
          return countPage(feed, event.report);
        case 'otherChanges':
          return countChanges(feed, event.changes);
        case 'touched':
          return add('highwater_touches_total', { feed });
        case 'polled': {
          const result = event.result.complete ? 'complete' : 'incomplete';
          add('highwater_polls_total', { feed, result });
          return observe('highwater_poll_duration_seconds', { feed }, event.seconds);
        }
        case 'failed':
          if (event.code === 'LOG_FENCED') add('highwater_fenced_total', { feed });
          return add('highwater_failures_total', { feed, reason: event.code });
        case 'transaction':
          if (event.failure !== null)
            return add('highwater_transaction_failures_total', { feed, reason: event.failure });
          return observe('highwater_transaction_duration_seconds', { feed }, event.seconds);
        case 'requested': {
          const status = event.status === null ? 'none' : `${Math.floor(event.status / 100)}xx`;
          add('highwater_api_requests_total', { feed, status });
          return observe('highwater_api_request_duration_seconds', { feed }, event.seconds);
        }
        case 'retried':
          return add('highwater_api_retries_total', { feed, reason: event.reason });
      }
    },
    /** In the text format of Prometheus. */
    async text(): Promise<string> {
      await collect();
      return registry.metrics();
    },
  };
}

const ops: readonly Op[] = ['c', 'u', 'd', 'r'];

/** Metrics that are not counted, but measured for each answer. A value that is missing is not among them. */
type PresentValues = Readonly<
  Partial<Record<MetricName, readonly (readonly [Labels, value: number | null | undefined])[]>>
>;

function deliveryValues(all: readonly DeliveryStatus[]): PresentValues {
  const of = (value: (one: DeliveryStatus) => number | null) =>
    all.map((one) => [{ delivery: one.delivery }, value(one)] as const);
  return {
    highwater_delivery_lag_events: of(({ lag }) => lag),
    highwater_delivery_waiting: of(({ waits_for: why }) => (why === null ? 0 : 1)),
    highwater_delivery_dead_letters: of(({ dead_letters }) => dead_letters),
  };
}

function feedValues(
  standings: readonly FeedStanding[],
  statuses: readonly FeedStatus[],
  nowMs: number,
): PresentValues {
  const of = (value: (standing: FeedStanding) => number | null | undefined) =>
    standings.map((standing) => [{ feed: standing.feed.name }, value(standing)] as const);
  const parked = new Set(statuses.flatMap((one) => (one.condition === 'parked' ? [one.feed] : [])));
  const scanned = ({ state }: FeedStanding) => state?.offset.last_complete_scan_ms;
  const seconds = (ms: number | null | undefined) => (ms === null || ms === undefined ? null : ms / 1_000);

  return {
    highwater_feed_owned: of(({ state }) => (state === null ? 0 : 1)),
    highwater_complete_scan_timestamp_seconds: of((one) => seconds(scanned(one))),
    highwater_seconds_since_complete_scan: of((one) => {
      const ms = scanned(one);
      return ms === null || ms === undefined ? null : Math.max(0, nowMs - ms) / 1_000;
    }),
    // 0: nothing of the feed is in the log yet.
    highwater_heartbeat_timestamp_seconds: of(({ state }) => seconds(state?.storedOffset.ts_ms || null)),
    highwater_last_change_timestamp_seconds: of(({ lastChangeMs }) => seconds(lastChangeMs)),
    highwater_high_water_mark_timestamp_seconds: of(({ state }) => state?.offset.high_water_mark),
    highwater_poll_interval_seconds: of(({ feed, state }) =>
      state === null ? null : feed.pollIntervalMs / 1_000,
    ),
    highwater_reconcile_timestamp_seconds: of(({ state }) => seconds(comparedMs(state?.offset ?? null))),
    highwater_reconcile_interval_seconds: of(({ feed, state }) =>
      state === null ? null : seconds(feed.reconcileEveryMs),
    ),
    highwater_feed_parked: of(({ feed }) => (parked.has(feed.name) ? 1 : 0)),
    highwater_feed_paused: of(({ state }) => (state === null ? null : state.offset.paused ? 1 : 0)),
    highwater_tracked_records: of(({ state }) => state?.recordCount),
    highwater_state_bytes: of(({ state }) => state?.imageBytes),
    highwater_drift_paths: of(({ drift }) => drift?.found().paths.length ?? 0),
    highwater_drifted_values_total: of(({ drift }) => {
      const { paths, others } = drift?.found() ?? { paths: [], others: 0 };
      return paths.reduce((sum, { count }) => sum + count, others);
    }),
  };
}
