import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { feedBoard } from '../../src/admin/feed-board';
import { type MetricSpec, metricTable } from '../../src/admin/metrics/metric-table';
import { createMetrics } from '../../src/admin/metrics/metrics';
import { namesIn } from '../support/promql';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly datasource?: { readonly uid: string };
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly datasource: { readonly uid: string } }[];
}

interface Variable {
  readonly name: string;
  readonly type: string;
  readonly query: string | { readonly query: string };
}

const root = path.join(__dirname, '..', '..');
const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
const { groups } = parse(read('ops/alerts.yaml')) as {
  groups: readonly { readonly rules: readonly Rule[] }[];
};
const rules = groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(read('ops/dashboard.json')) as {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly Variable[] };
};
const queries = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

/** Labels of every scrape and of histograms. */
const otherLabels = ['job', 'instance', 'le'];
let registered: Map<string, readonly string[]>;

beforeAll(async () => {
  const text = await createMetrics(
    feedBoard([], async () => null),
    { version: '0', log: 'embedded' },
  ).text();
  registered = new Map([...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => [name!, []]));
  for (const [name, { labels, type }] of Object.entries<MetricSpec>(metricTable)) {
    registered.set(name, labels);
    if (type === 'histogram')
      for (const part of ['bucket', 'sum', 'count']) registered.set(`${name}_${part}`, labels);
  }
});

/** Names in a query that do not exist. Variables of Grafana stand for something that does. */
function wrongIn(query: string): string[] {
  const written = query.replaceAll('$__rate_interval', '5m').replace(/\$\w+/g, 'x');
  const { metrics, grouped, errors } = namesIn(written);
  const known = metrics.flatMap(({ name }) => [...(registered.get(name) ?? [])]);
  return [
    ...errors,
    ...metrics.filter(({ name }) => !registered.has(name)).map(({ name }) => `no metric ${name}`),
    ...metrics.flatMap(({ name, matched }) =>
      matched
        .filter((label) => ![...otherLabels, ...(registered.get(name) ?? [])].includes(label))
        .map((label) => `${name} has no label ${label}`),
    ),
    ...grouped
      .filter((label) => ![...otherLabels, ...known].includes(label))
      .map((label) => `no label ${label}`),
  ];
}

it('finds what does not exist', () => {
  expect(wrongIn('sum by (feed) (highwater_polls)')).toEqual(['no metric highwater_polls', 'no label feed']);
  expect(wrongIn('rate(highwater_polls_total{symbol="A"}[5m])')).toEqual([
    'highwater_polls_total has no label symbol',
  ]);
  expect(wrongIn('sum by (symbol) (highwater_polls_total)')).toEqual(['no label symbol']);
  expect(wrongIn('rate(highwater_polls_total[5m')).not.toEqual([]);
});

describe('ops/alerts.yaml', () => {
  it.each(rules.map((rule) => [rule.alert, rule] as const))('%s is of metrics that exist', (_, rule) => {
    expect(namesIn(rule.expr).metrics.length).toBeGreaterThan(0);
    expect(wrongIn(rule.expr)).toStrictEqual([]);
  });

  it('says of each alert how bad it is, what is so, and where it says what to do', () => {
    const runbook = read('docs/runbook/alerts.md');
    const sections = [...runbook.matchAll(/^## (\w+)$/gm)].map(([, title]) => title!.toLowerCase());
    for (const { alert, labels, annotations, for: waits } of rules) {
      expect(alert).toMatch(/^Highwater[A-Z]/);
      expect(waits).toMatch(/^\d+[mh]$/);
      expect(['critical', 'warning', 'info']).toContain(labels.severity);
      expect(annotations.summary).toBeTruthy();
      expect(annotations.description).toBeTruthy();
      expect(annotations.runbook_url).toBe(`docs/runbook/alerts.md#${alert.toLowerCase()}`);
      expect(sections).toContain(alert.toLowerCase());
    }
  });

  it('has tests in which each alert fires, and in which it does not on a healthy installation', () => {
    interface Case {
      readonly alertname: string;
      readonly exp_alerts: readonly unknown[];
    }
    const { tests } = parse(read('ops/alerts.test.yaml')) as { tests: { alert_rule_test: Case[] }[] };
    const [healthy, ...others] = tests.map(({ alert_rule_test }) => alert_rule_test);
    const names = rules.map(({ alert }) => alert).sort();
    expect([...new Set(healthy!.map(({ alertname }) => alertname))].sort()).toEqual(names);
    expect(healthy!.filter(({ exp_alerts }) => exp_alerts.length > 0)).toStrictEqual([]);
    const fired = others.flat().filter(({ exp_alerts }) => exp_alerts.length > 0);
    expect([...new Set(fired.map(({ alertname }) => alertname))].sort()).toEqual(names);
  });
});

describe('ops/dashboard.json', () => {
  it.each(queries)('%s', (query) => expect(wrongIn(query)).toStrictEqual([]));

  it('mixes no installations', () => {
    for (const query of queries) {
      const groups = query.match(/ by \([^)]*\)/g) ?? [];
      expect(groups.filter((group) => !group.startsWith(' by (job, '))).toStrictEqual([]);
    }
  });

  it('is of one data source, which is chosen when it is looked at', () => {
    const variables = dashboard.templating.list;
    expect(variables.filter(({ type }) => type === 'datasource').map(({ name }) => name)).toEqual([
      'datasource',
    ]);
    for (const { type, datasource, targets = [] } of dashboard.panels) {
      if (type === 'row') continue;
      for (const one of [datasource, ...targets.map((target) => target.datasource)])
        expect(one?.uid).toBe(`$\{datasource}`);
    }
    for (const { type, query } of variables) {
      if (type !== 'query' || typeof query === 'string') continue;
      const [, selector, label] = /^label_values\((.+), (\w+)\)$/.exec(query.query)!;
      expect(wrongIn(`sum by (${label}) (${selector})`)).toStrictEqual([]);
    }
  });

  it('answers in this order: up to date, what changes, what is wrong, what it costs', () => {
    const { panels } = dashboard;
    expect(panels.filter(({ type }) => type === 'row').map(({ title }) => title)).toEqual([
      'Is it up to date?',
      'What changes?',
      'What is wrong?',
      'What does it cost?',
    ]);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const [i, a] of panels.entries()) {
      for (const b of panels.slice(i + 1)) {
        const [p, q] = [a.gridPos, b.gridPos];
        const apart = p.x + p.w <= q.x || q.x + q.w <= p.x || p.y + p.h <= q.y || q.y + q.h <= p.y;
        expect([a.title, b.title, apart]).toEqual([a.title, b.title, true]);
      }
      expect(a.gridPos.x + a.gridPos.w).toBeLessThanOrEqual(24);
    }
  });

  it('leaves out no metric of highwater but those that only rules and eyes need', () => {
    const shown = new Set(
      queries.flatMap((query) =>
        namesIn(query.replace(/\$\w+/g, 'x')).metrics.map(({ name }) => name.replace(/_bucket$/, '')),
      ),
    );
    const left = Object.keys(metricTable).filter((name) => !shown.has(name));
    expect(left.sort()).toEqual([
      'highwater_build_info',
      'highwater_delivery_dead_letters',
      'highwater_delivery_lag_events',
      'highwater_delivery_waiting',
      'highwater_drift_paths',
      'highwater_feed_paused',
      'highwater_high_water_mark_timestamp_seconds',
      'highwater_kafka_throttled_seconds_total',
      'highwater_log_bytes',
      'highwater_log_free_bytes',
      'highwater_pages_total',
      'highwater_polls_total',
      'highwater_reconcile_interval_seconds',
      'highwater_reconcile_timestamp_seconds',
      'highwater_seconds_since_complete_scan',
    ]);
  });
});
