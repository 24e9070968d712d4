import { parser } from '@prometheus-io/lezer-promql';

/** A metric as a query uses it. */
export interface UsedMetric {
  readonly name: string;
  /** The label matchers of its selector. */
  readonly matched: readonly string[];
}

export interface UsedNames {
  readonly metrics: readonly UsedMetric[];
  /** After by, without, on and ignoring. */
  readonly grouped: readonly string[];
  /** The text that is not PromQL. */
  readonly errors: readonly string[];
}

/** Metrics and labels of a PromQL query, by the parser of Prometheus' own user interface. */
export function namesIn(query: string): UsedNames {
  const metrics: { name: string; matched: string[] }[] = [];
  const grouped: string[] = [];
  const errors: string[] = [];
  parser.parse(query).iterate({
    enter({ type, node, from, to }) {
      const text = query.slice(from, to);
      if (type.isError) errors.push(`at ${from}: ${text}`);
      if (type.name === 'VectorSelector') {
        metrics.push({ name: query.slice(node.firstChild!.from, node.firstChild!.to), matched: [] });
      }
      if (type.name !== 'LabelName') return;
      if (node.parent?.name === 'GroupingLabels') grouped.push(text);
      else metrics.at(-1)?.matched.push(text);
    },
  });
  return { metrics, grouped, errors };
}
