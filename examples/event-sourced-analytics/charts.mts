const BLUE = '#2f6fb3';
const PALE = '#b9c3cf';
const AMBER = '#d9822b';
const INK = '#1f2933';
/** Of the whole picture, in pixels. */
const size = { width: 900, height: 460, autosize: { type: 'fit', contains: 'padding' } };

interface Chart {
  readonly title: { readonly text: string; readonly subtitle: string };
  readonly [part: string]: unknown;
}

const percent = (share: number): string => `${Math.round(share * 100)}%`;

/** By the name of the query whose rows they draw. A title says what was found. */
export const charts = {
  funnel(rows: readonly { stage: string; ipos: number }[]): Chart {
    const at = (stage: string) => rows.find((row) => row.stage === stage)?.ipos ?? 0;
    const all = at('New');
    const share = (stage: string) => percent(at(stage) / all);
    const stages = ['New', 'Amended', 'Priced', 'Closed', 'Postponed', 'Withdrawn'];
    const values = stages.map((stage) => ({
      stage,
      ipos: at(stage),
      isExit: stage === 'Postponed' || stage === 'Withdrawn',
      label: `${at(stage)} · ${share(stage)}`,
    }));
    return {
      title: {
        text: `Of ${all} new IPOs, ${share('Priced')} were priced, ${share('Withdrawn')} withdrawn`,
        subtitle: 'IPOs that were filed or rumored while highwater watched, by the stages reached so far',
      },
      ...size,
      data: { values },
      encoding: {
        y: { field: 'stage', sort: stages, title: null, axis: { labelFontSize: 14, labelColor: INK } },
        x: {
          field: 'ipos',
          type: 'quantitative',
          axis: null,
          scale: { domainMax: all * 1.12, nice: false },
        },
      },
      layer: [
        {
          mark: { type: 'bar', height: { band: 0.68 } },
          encoding: { color: { condition: { test: 'datum.isExit', value: AMBER }, value: BLUE } },
        },
        {
          mark: { type: 'text', align: 'left', dx: 8, fontSize: 13, color: INK },
          encoding: { text: { field: 'label' } },
        },
      ],
    };
  },

  'filing-to-pricing'(rows: readonly { days: number; median: number; ninth_decile: number }[]): Chart {
    const { median, ninth_decile } = rows[0]!;
    const months = Math.ceil(rows.at(-1)!.days / 28) + 1;
    return {
      title: {
        text: `Half of the issuers price within ${Math.round(median)} days of filing, nine in ten within ${ninth_decile}`,
        subtitle: `Days from first filing to first pricing, ${rows.length} IPOs that were filed and priced`,
      },
      ...size,
      layer: [
        {
          data: { values: rows },
          mark: { type: 'bar', color: BLUE, binSpacing: 2 },
          encoding: {
            x: {
              field: 'days',
              bin: { step: 14 },
              title: 'days from filing to pricing',
              axis: { grid: false, values: Array.from({ length: months }, (_, i) => i * 28) },
              scale: { nice: false },
            },
            y: {
              aggregate: 'count',
              title: 'IPOs per two weeks',
              axis: { format: 'd', tickMinStep: 1, tickCount: 6 },
            },
          },
        },
        {
          data: { values: [{ median, label: `median ${Math.round(median)} days` }] },
          encoding: { x: { field: 'median', type: 'quantitative' } },
          layer: [
            { mark: { type: 'rule', color: AMBER, strokeWidth: 2 } },
            {
              mark: { type: 'text', align: 'left', dx: 8, fontSize: 13, fontWeight: 600, color: AMBER },
              encoding: { text: { field: 'label' }, y: { value: 8 } },
            },
          ],
        },
      ],
    };
  },

  pipeline(rows: readonly { at: number; status: string; ipos: number }[]): Chart {
    const statuses = ['Postponed', 'Rumored', 'Initial Filing', 'Amended'];
    const total = (at: number) => rows.reduce((sum, row) => (row.at === at ? sum + row.ipos : sum), 0);
    const [first, last] = [rows[0]!.at, rows.at(-1)!.at];
    const growth = total(last) / total(first) - 1;
    const trend = Math.abs(growth) < 0.1 ? 'held steady' : growth > 0 ? 'grew' : 'shrank';
    const days = new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' });
    return {
      title: {
        text: `The pipeline ${trend}: ${total(first)} IPOs at the start, ${total(last)} at the end`,
        subtitle: `IPOs neither priced nor withdrawn, by status, ${days.formatRange(first, last)}`,
      },
      ...size,
      data: { values: rows },
      transform: [{ calculate: `indexof(${JSON.stringify(statuses)}, datum.status)`, as: 'rank' }],
      mark: 'area',
      encoding: {
        x: { field: 'at', type: 'temporal', scale: { type: 'utc' }, title: null, axis: { grid: false } },
        y: { field: 'ipos', type: 'quantitative', stack: true, title: 'IPOs', axis: { tickCount: 6 } },
        color: {
          field: 'status',
          scale: { domain: statuses, range: [AMBER, PALE, '#7fa8d1', BLUE] },
          legend: { orient: 'right', offset: 16 },
        },
        order: { field: 'rank', type: 'quantitative', sort: 'descending' },
      },
    };
  },

  analysts(rows: readonly { name: string; calls: number; success_rate: number }[]): Chart {
    const r = correlation(rows.map(({ calls, success_rate }) => [calls, success_rate]));
    const finding =
      Math.abs(r) < 0.2 ? 'are not more often right' : `are ${r > 0 ? 'more' : 'less'} often right`;
    const values = rows.map((row, i) => ({ ...row, label: i === 0 ? row.name : '' }));
    return {
      title: {
        text: `Analysts who call more ${finding} (r = ${r.toFixed(2).replace('-', '−')})`,
        subtitle: `${rows.length} analysts with three calls or more; success rate as it stood when each call was made`,
      },
      ...size,
      data: { values },
      encoding: {
        x: { field: 'calls', type: 'quantitative', title: 'calls in the period' },
        y: {
          field: 'success_rate',
          type: 'quantitative',
          title: 'success rate, %',
          scale: { domain: [0, 100] },
        },
      },
      layer: [
        { mark: { type: 'circle', size: 90, color: BLUE, opacity: 0.65 } },
        {
          mark: { type: 'text', align: 'right', dx: -9, dy: 1, fontSize: 12, color: INK },
          encoding: { text: { field: 'label' } },
        },
      ],
    };
  },
};

/** Pearson's, -1 to 1. */
function correlation(pairs: readonly (readonly number[])[]): number {
  const mean = (at: number) => pairs.reduce((sum, pair) => sum + pair[at]!, 0) / pairs.length;
  const means = [mean(0), mean(1)];
  const sum = (a: number, b: number) =>
    pairs.reduce((total, pair) => total + (pair[a]! - means[a]!) * (pair[b]! - means[b]!), 0);
  return sum(0, 1) / Math.sqrt(sum(0, 0) * sum(1, 1)) || 0;
}
