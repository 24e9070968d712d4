/** One metric, as it is registered and as `docs/metrics.md` has it. Names keep to the conventions of Prometheus. */
export interface MetricSpec {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly MetricLabel[];
  /** A sentence without its stop. */
  readonly help: string;
  /** Upper bounds, of a histogram. */
  readonly buckets?: readonly number[];
}

export type MetricLabel =
  | 'feed'
  | 'delivery'
  | 'op'
  | 'type'
  | 'result'
  | 'reason'
  | 'status'
  | 'version'
  | 'log';

/** From a fraction of a second to a day: a record may be seen seconds or hours after the vendor changed it. */
const latencies = [1, 2.5, 5, 10, 20, 30, 45, 60, 90, 120, 300, 600, 1_800, 3_600, 21_600, 86_400];
const durations = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

const feed = ['feed'] as const;

/** All metrics of highwater itself. prom-client adds the metrics of the process. */
export const metricTable = {
  highwater_feed_owned: {
    type: 'gauge',
    labels: feed,
    help: '1 if this instance owns the feed, else 0. Metrics "reported by the owner" exist only if it is 1',
  },
  highwater_complete_scan_timestamp_seconds: {
    type: 'gauge',
    labels: feed,
    help: "When the feed was last read to the end of the server's records. Reported by the owner; missing until then",
  },
  highwater_seconds_since_complete_scan: {
    type: 'gauge',
    labels: feed,
    help: 'Seconds from then to this answer, for people; rules compare the timestamp with time(). Reported by the owner',
  },
  highwater_heartbeat_timestamp_seconds: {
    type: 'gauge',
    labels: feed,
    help: "When the feed's source offset was last committed, with or without changes. Reported by the owner",
  },
  highwater_last_change_timestamp_seconds: {
    type: 'gauge',
    labels: feed,
    help: 'When a page last had changes. Missing until this process has read such a page',
  },
  highwater_high_water_mark_timestamp_seconds: {
    type: 'gauge',
    labels: feed,
    help: 'The feed has been read up to this `updated` of the vendor. Reported by the owner',
  },
  highwater_poll_interval_seconds: {
    type: 'gauge',
    labels: feed,
    help: 'Configured time from one poll to the next. Reported by the owner',
  },
  highwater_feed_parked: {
    type: 'gauge',
    labels: feed,
    help: '1 while only a person can fix the feed, until a poll succeeds or the feed is paused; else 0',
  },
  highwater_feed_paused: {
    type: 'gauge',
    labels: feed,
    help: '1 while the feed is paused by an operator. Reported by the owner',
  },
  highwater_tracked_records: {
    type: 'gauge',
    labels: feed,
    help: 'Records whose current image the owner holds. Reported by the owner',
  },
  highwater_state_bytes: {
    type: 'gauge',
    labels: feed,
    help: 'Size of these images, uncompressed. Reported by the owner',
  },
  highwater_polls_total: {
    type: 'counter',
    labels: ['feed', 'result'],
    help: 'Polls that did not fail',
  },
  highwater_failures_total: {
    type: 'counter',
    labels: ['feed', 'reason'],
    help: "Errors of the feed's loop: failed polls, failed takeovers",
  },
  highwater_fenced_total: {
    type: 'counter',
    labels: feed,
    help: 'How often another publisher took the feed while this one was writing',
  },
  highwater_poll_duration_seconds: {
    type: 'histogram',
    labels: feed,
    buckets: durations,
    help: 'Time of polls that did not fail, with their pages and transactions',
  },
  highwater_pages_total: { type: 'counter', labels: feed, help: 'Pages that were read and processed' },
  highwater_records_read_total: {
    type: 'counter',
    labels: feed,
    help: 'Rows in these pages; a record that is read again counts again',
  },
  highwater_changes_total: { type: 'counter', labels: ['feed', 'op'], help: 'Change events, committed' },
  highwater_transitions_total: {
    type: 'counter',
    labels: ['feed', 'type'],
    help: 'Transition events, committed',
  },
  highwater_touches_total: {
    type: 'counter',
    labels: feed,
    help: 'Records in which only `updated` differs, which publish nothing. Each poll that reads them counts them',
  },
  highwater_observation_latency_seconds: {
    type: 'histogram',
    labels: feed,
    buckets: latencies,
    help: "For changes that polls found: from the vendor's `updated` (whole seconds) to the answer that showed it",
  },
  highwater_dead_letters_total: { type: 'counter', labels: feed, help: 'Dead letters, committed' },
  highwater_drifted_values_total: {
    type: 'counter',
    labels: feed,
    help: 'Values published as JSON text in `extra`, because the schema lacks the member or has another type',
  },
  highwater_drift_paths: {
    type: 'gauge',
    labels: feed,
    help: 'Members of records that had such values since the process began; at most 100',
  },
  highwater_transaction_duration_seconds: {
    type: 'histogram',
    labels: feed,
    buckets: durations,
    help: 'Time from handing a transaction to the log until it was committed',
  },
  highwater_transaction_failures_total: {
    type: 'counter',
    labels: ['feed', 'reason'],
    help: 'Transactions that failed, or whose outcome is unknown',
  },
  highwater_api_requests_total: {
    type: 'counter',
    labels: ['feed', 'status'],
    help: 'Requests to the API, by class of the answer',
  },
  highwater_api_retries_total: {
    type: 'counter',
    labels: ['feed', 'reason'],
    help: 'Pages asked for again, by the reason',
  },
  highwater_api_request_duration_seconds: {
    type: 'histogram',
    labels: feed,
    buckets: durations,
    help: 'Time from a request to the end of its answer',
  },
  highwater_delivery_lag_events: {
    type: 'gauge',
    labels: ['delivery'],
    help: 'Events that the delivery has not looked at yet, wherever it runs; missing until it has run',
  },
  highwater_delivery_waiting: {
    type: 'gauge',
    labels: ['delivery'],
    help: '1 while the receiver does not take an event; else 0',
  },
  highwater_delivery_dead_letters: {
    type: 'gauge',
    labels: ['delivery'],
    help: 'Dead letters of the delivery that the log keeps',
  },
  highwater_log_bytes: {
    type: 'gauge',
    labels: [],
    help: 'Size of the file of the embedded log and of its write-ahead log; 0 on Kafka',
  },
  highwater_log_free_bytes: {
    type: 'gauge',
    labels: [],
    help: 'Part of it that is free for new records, for example after retention',
  },
  highwater_kafka_throttled_seconds_total: {
    type: 'counter',
    labels: [],
    help: 'For how long quotas of the brokers have held this process back; 0 on the embedded log',
  },
  highwater_build_info: { type: 'gauge', labels: ['version', 'log'], help: 'Always 1' },
} as const satisfies Readonly<Record<string, MetricSpec>>;

export type MetricName = keyof typeof metricTable;
