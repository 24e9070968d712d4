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

/** @param labels default: the feed */
function metric<Type extends MetricSpec['type']>(type: Type) {
  return (help: string, labels: readonly MetricLabel[] = ['feed']) => ({ type, labels, help });
}

const gauge = metric('gauge');
const counter = metric('counter');
const histogram = (buckets: readonly number[], help: string) => ({ ...metric('histogram')(help), buckets });

/** All metrics of highwater itself. prom-client adds the metrics of the process. */
export const metricTable = {
  highwater_feed_owned: gauge(
    '1 if this instance owns the feed, else 0. Metrics "reported by the owner" exist only if it is 1',
  ),
  highwater_complete_scan_timestamp_seconds: gauge(
    "When the feed was last read to the end of the server's records. Reported by the owner; missing until then",
  ),
  highwater_seconds_since_complete_scan: gauge(
    'Seconds from then to this answer, for people; rules compare the timestamp with time(). Reported by the owner',
  ),
  highwater_heartbeat_timestamp_seconds: gauge(
    "When the feed's source offset was last committed, with or without changes. Reported by the owner",
  ),
  highwater_last_change_timestamp_seconds: gauge(
    'When a page last had changes. Missing until this process has read such a page',
  ),
  highwater_high_water_mark_timestamp_seconds: gauge(
    'The feed has been read up to this `updated` of the vendor. Reported by the owner',
  ),
  highwater_poll_interval_seconds: gauge('Configured time from one poll to the next. Reported by the owner'),
  highwater_reconcile_timestamp_seconds: gauge(
    'When a reconcile of the feed last reached its end; until then, when its snapshot was complete. Reported by the owner',
  ),
  highwater_reconcile_interval_seconds: gauge(
    'Configured time from one reconcile to the next. Reported by the owner; missing if there are none',
  ),
  highwater_feed_parked: gauge(
    '1 while only a person can fix the feed, until a poll succeeds or the feed is paused; else 0',
  ),
  highwater_feed_paused: gauge('1 while the feed is paused by an operator. Reported by the owner'),
  highwater_tracked_records: gauge('Records whose current image the owner holds. Reported by the owner'),
  highwater_state_bytes: gauge('Size of these images, uncompressed. Reported by the owner'),
  highwater_polls_total: counter('Polls that did not fail', ['feed', 'result']),
  highwater_failures_total: counter("Errors of the feed's loop: failed polls, failed takeovers", [
    'feed',
    'reason',
  ]),
  highwater_fenced_total: counter('How often another publisher took the feed while this one was writing'),
  highwater_poll_duration_seconds: histogram(
    durations,
    'Time of polls that did not fail, with their pages and transactions',
  ),
  highwater_pages_total: counter('Pages that were read and processed'),
  highwater_records_read_total: counter('Rows in these pages; a record that is read again counts again'),
  highwater_changes_total: counter('Change events, committed', ['feed', 'op']),
  highwater_transitions_total: counter('Transition events, committed', ['feed', 'type']),
  highwater_touches_total: counter(
    'Records in which only `updated` differs, which publish nothing. Each poll that reads them counts them',
  ),
  highwater_observation_latency_seconds: histogram(
    latencies,
    "For changes that polls found: from the vendor's `updated` (whole seconds) to the answer that showed it",
  ),
  highwater_dead_letters_total: counter('Dead letters, committed'),
  highwater_drifted_values_total: counter(
    'Values published as JSON text in `extra`, because the schema lacks the member or has another type',
  ),
  highwater_drift_paths: gauge(
    'Members of records that had such values since the process began; at most 100',
  ),
  highwater_transaction_duration_seconds: histogram(
    durations,
    'Time from handing a transaction to the log until it was committed',
  ),
  highwater_transaction_failures_total: counter('Transactions that failed, or whose outcome is unknown', [
    'feed',
    'reason',
  ]),
  highwater_api_requests_total: counter('Requests to the API, by class of the answer', ['feed', 'status']),
  highwater_api_retries_total: counter('Pages asked for again, by the reason', ['feed', 'reason']),
  highwater_api_request_duration_seconds: histogram(
    durations,
    'Time from a request to the end of its answer',
  ),
  highwater_delivery_lag_events: gauge(
    'Events that the delivery has not looked at yet, wherever it runs; missing until it has run',
    ['delivery'],
  ),
  highwater_delivery_waiting: gauge('1 while the receiver does not take an event; else 0', ['delivery']),
  highwater_delivery_dead_letters: gauge('Dead letters of the delivery that the log keeps', ['delivery']),
  highwater_log_bytes: gauge(
    'Size of the file of the embedded log and of its write-ahead log; 0 on Kafka',
    [],
  ),
  highwater_log_free_bytes: gauge('Part of it that is free for new records, for example after retention', []),
  highwater_kafka_throttled_seconds_total: counter(
    'For how long quotas of the brokers have held this process back; 0 on the embedded log',
    [],
  ),
  highwater_build_info: gauge('Always 1', ['version', 'log']),
} satisfies Readonly<Record<string, MetricSpec>>;

export type MetricName = keyof typeof metricTable;
