import { type MetricLabel, type MetricSpec, metricTable } from '../../src/admin/metrics/metric-table';

/** The values of each label: few, and never an id or a symbol. */
const labelValues: Readonly<Record<MetricLabel, string>> = {
  feed: 'name of a configured feed',
  delivery: 'name of a configured delivery',
  op: '`c`, `u`, `d`, `r`',
  type: "name of a transition's event, such as `DealStatusChanged`",
  result: '`complete`, `incomplete` (ended before the last record of the server)',
  reason: 'code of an error, see [errors](errors.md)',
  status: '`2xx`, `3xx`, `4xx`, `5xx`, `none` (no answer)',
  version: 'of highwater',
  log: '`embedded`, `kafka`',
};

/** `docs/metrics.md`. */
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
