import type { FeedStatus } from '../../feed-status/feed-status';
import type { FeedStanding } from '../feed-board';
import type { MetricName } from './metric-table';

export interface FeedValue {
  readonly feed: string;
  readonly value: number;
}

type FeedGauge = Exclude<
  Extract<MetricName, `highwater_${string}`>,
  `${string}_total` | 'highwater_build_info' | 'highwater_log_bytes' | 'highwater_log_free_bytes'
>;

/** The present values of the gauges. A feed without a value is not among them. */
export function feedGauges(
  standings: readonly FeedStanding[],
  statuses: readonly FeedStatus[],
  nowMs: number,
): Readonly<Partial<Record<FeedGauge, readonly FeedValue[]>>> {
  const of = (value: (standing: FeedStanding) => number | null | undefined): FeedValue[] =>
    standings.flatMap((standing) => {
      const found = value(standing);
      return found === null || found === undefined ? [] : [{ feed: standing.feed.name, value: found }];
    });
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
    highwater_feed_parked: of(({ feed }) => (parked.has(feed.name) ? 1 : 0)),
    highwater_feed_paused: of(({ state }) => (state === null ? null : state.offset.paused ? 1 : 0)),
    highwater_tracked_records: of(({ state }) => state?.recordCount),
    highwater_state_bytes: of(({ state }) => state?.imageBytes),
    highwater_drift_paths: of(({ drift }) => drift?.found().paths.length ?? 0),
  };
}
