/** One metric, as it is registered and as `docs/metrics.md` has it. Names keep to the conventions of Prometheus. */
export interface MetricSpec {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly MetricLabel[];
  /** A sentence without its stop. */
  readonly help: string;
  /** Upper bounds, of a histogram. */
  readonly buckets?: readonly number[];
}

export type MetricLabel = 'feed' | 'op' | 'type' | 'result' | 'reason' | 'status' | 'version' | 'log';

/** The values of each label: few, and never an id or a symbol. */
export const labelValues: Readonly<Record<MetricLabel, string>> = {
  feed: 'name of a configured feed',
  op: '`c`, `u`, `d`, `r`',
  type: "name of a transition's event, such as `DealStatusChanged`",
  result: '`complete`, `incomplete` (ended before the end of what the server showed)',
  reason: 'code of an error, see [errors](errors.md)',
  status: '`2xx`, `3xx`, `4xx`, `5xx`, `none` (no answer)',
  version: 'of highwater',
  log: '`embedded`, `kafka`',
};

/** From a fraction of a second to a day: a record may be seen seconds or hours after the vendor changed it. */
const latencies = [1, 2.5, 5, 10, 20, 30, 45, 60, 90, 120, 300, 600, 1_800, 3_600, 21_600, 86_400];
const durations = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

const feed = ['feed'] as const;

/** All metrics of highwater itself. prom-client adds the metrics of the process. */
export const metricTable = {
  highwater_feed_owned: {
    type: 'gauge',
    labels: feed,
    help: '1 when this instance has the feed, else 0. The metrics marked as of the owner are there only where it is 1',
  },
  highwater_complete_scan_timestamp_seconds: {
    type: 'gauge',
    labels: feed,
    help: 'When the feed was last read up to the end of what the server showed. Reported by the owner; missing until it was',
  },
  highwater_seconds_since_complete_scan: {
    type: 'gauge',
    labels: feed,
    help: 'Seconds from then to this answer, for eyes; rules compare the timestamp with time(). Reported by the owner',
  },
  highwater_heartbeat_timestamp_seconds: {
    type: 'gauge',
    labels: feed,
    help: "When the feed's source offset was last committed to the log, with news or without. Reported by the owner",
  },
  highwater_last_change_timestamp_seconds: {
    type: 'gauge',
    labels: feed,
    help: 'When a page last had changes. Missing until one had, since the process began',
  },
  highwater_high_water_mark_timestamp_seconds: {
    type: 'gauge',
    labels: feed,
    help: "The vendor's `updated` up to which the feed is read. Reported by the owner",
  },
  highwater_poll_interval_seconds: {
    type: 'gauge',
    labels: feed,
    help: 'Configured time from one poll to the next. Reported by the owner',
  },
  highwater_feed_parked: {
    type: 'gauge',
    labels: feed,
    help: '1 while the feed waits for a person to fix something: until a poll succeeds or the feed is paused; else 0',
  },
  highwater_feed_paused: {
    type: 'gauge',
    labels: feed,
    help: '1 while an operator has it paused. Reported by the owner',
  },
  highwater_tracked_records: {
    type: 'gauge',
    labels: feed,
    help: 'Records of which the owner holds the current image. Reported by the owner',
  },
  highwater_state_bytes: {
    type: 'gauge',
    labels: feed,
    help: 'Size of these images, as the log holds them uncompressed. Reported by the owner',
  },
  highwater_polls_total: {
    type: 'counter',
    labels: ['feed', 'result'],
    help: 'Polls that did not fail',
  },
  highwater_failures_total: {
    type: 'counter',
    labels: ['feed', 'reason'],
    help: "Errors that the feed's loop met: polls that failed, feeds that could not be taken over",
  },
  highwater_fenced_total: {
    type: 'counter',
    labels: feed,
    help: 'Times that another publisher took the feed while this one was writing',
  },
  highwater_poll_duration_seconds: {
    type: 'histogram',
    labels: feed,
    buckets: durations,
    help: 'Time of polls that did not fail, pages and transactions included',
  },
  highwater_pages_total: { type: 'counter', labels: feed, help: 'Pages that were read and worked on' },
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
    help: 'Records read with nothing new but `updated`, which publishes nothing; counted with each poll that reads them',
  },
  highwater_observation_latency_seconds: {
    type: 'histogram',
    labels: feed,
    buckets: latencies,
    help: "From the vendor's `updated` (whole seconds) to the answer that showed it, of changes that polls found",
  },
  highwater_dead_letters_total: { type: 'counter', labels: feed, help: 'Dead letters, committed' },
  highwater_drifted_values_total: {
    type: 'counter',
    labels: feed,
    help: 'Values published as JSON text in `extra`, since the schema does not have them so',
  },
  highwater_drift_paths: {
    type: 'gauge',
    labels: feed,
    help: 'Members of records with such values, since the process began; at most 100',
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
    help: 'Transactions that were not committed, or of which that is not known',
  },
  highwater_api_requests_total: {
    type: 'counter',
    labels: ['feed', 'status'],
    help: 'Requests to the API, by class of the answer',
  },
  highwater_api_retries_total: {
    type: 'counter',
    labels: ['feed', 'reason'],
    help: 'Pages asked for again, by why',
  },
  highwater_api_request_duration_seconds: {
    type: 'histogram',
    labels: feed,
    buckets: durations,
    help: 'Time from a request to the end of its answer',
  },
  highwater_log_bytes: {
    type: 'gauge',
    labels: [],
    help: 'Size of the file of the embedded log; 0 on Kafka',
  },
  highwater_log_free_bytes: {
    type: 'gauge',
    labels: [],
    help: 'Part of it that is free for new records, such as what retention removed',
  },
  highwater_build_info: { type: 'gauge', labels: ['version', 'log'], help: 'Always 1' },
} as const satisfies Readonly<Record<string, MetricSpec>>;

export type MetricName = keyof typeof metricTable;

/** The page `docs/metrics.md`. */
export function metricsPage(): string {
  const rows = Object.entries<MetricSpec>(metricTable).map(([name, { type, labels, help }]) => {
    const named = labels.map((label) => `\`${label}\``).join(', ');
    return `| \`${name}\` | ${type} | ${named} | ${help}. |`;
  });
  const values = Object.entries(labelValues).map(([label, text]) => `| \`${label}\` | ${text} |`);
  return `# Metrics

\`highwater run\` serves them at \`/metrics\`, in the text format of Prometheus, when \`HIGHWATER_HTTP_PORT\` is set: see
[monitoring](monitoring.md). Times are in seconds, timestamps in Unix seconds. Counters begin at 0 with the
process. With several instances, sum counters and take the greatest of gauges by \`feed\`: one instance has each feed.
[\`ops/\`](../ops) has alert rules and a dashboard for Grafana; a test holds both against this list.

| metric | type | labels | |
|---|---|---|---|
${rows.join('\n')}

| label | values |
|---|---|
${values.join('\n')}

Metrics of the process have their usual names: \`process_cpu_seconds_total\`, \`process_resident_memory_bytes\`,
\`nodejs_eventloop_lag_p99_seconds\`, \`nodejs_heap_size_used_bytes\` and so on.
`;
}
