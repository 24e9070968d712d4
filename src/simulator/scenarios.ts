import type { SimulatorOptions } from './simulator';

export interface Scenario {
  /** One line for `simulate --help`. */
  readonly description: string;
  readonly options: SimulatorOptions;
}

const small = { insights: 600, analysts: 200, ipos: 400 } as const;
const medium = { insights: 4000, analysts: 1200, ipos: 3000 } as const;

/** Named ways for the simulated API to be. Options given beside a scenario go over its own. */
export const scenarios = {
  calm: {
    description: 'a vendor that behaves, something new every two seconds',
    options: { records: small, marketDayMs: 2000 },
  },
  busy: {
    description: 'a few thousand records a feed, twenty changes a second',
    options: { records: medium, marketDayMs: 50 },
  },
  large: {
    description: '100,000 IPOs of 1.4 KB, 20,000 insights, 5,000 analysts',
    options: { records: { insights: 20_000, analysts: 5000, ipos: 100_000 }, marketDayMs: 1000 },
  },
  careless: {
    description:
      'pages of 100 at most, ties in any order, rows that move while they are read, late rows, faults',
    options: {
      records: medium,
      marketDayMs: 200,
      perSecond: 20,
      behaviour: {
        pageCap: 100,
        ties: 'shuffled',
        moveRowsPerRequest: 2,
        visibilityDelay: 2,
        visibilityDelayShare: 0.2,
        emptyAs: 'not-found',
        drift: { scale: 0.2 },
      },
      faults: [
        { fault: { kind: 'status', status: 500 }, probability: 0.03 },
        { fault: { kind: 'truncated' }, probability: 0.03 },
        { fault: { kind: 'reset', when: 'middle' }, probability: 0.03 },
        { fault: { kind: 'short', rows: 0 }, probability: 0.01 },
        { fault: { kind: 'stale', writes: 5 }, probability: 0.02 },
        { fault: { kind: 'delay', ms: 400 }, probability: 0.1 },
      ],
    },
  },
  'offset-paging': {
    description: 'the page parameter counts records, not pages',
    options: { records: medium, marketDayMs: 1000, behaviour: { paging: 'offset' } },
  },
  'first-page-one': {
    description: 'pages are counted from 1, and page 0 is page 1',
    options: { records: medium, marketDayMs: 1000, behaviour: { firstPage: 1 } },
  },
  unordered: {
    description: 'answers come in another order at every request',
    options: { records: small, marketDayMs: 1000, behaviour: { order: 'shuffled' } },
  },
  descending: {
    description: 'newest updates first',
    options: { records: medium, marketDayMs: 1000, behaviour: { order: 'desc' } },
  },
  'one-second': {
    description: '5,000 IPOs updated in one and the same second',
    options: {
      records: { ...small, ipos: 8000 },
      cluster: { feed: 'ipos', size: 5000 },
      marketDayMs: 1000,
      behaviour: { ties: 'shuffled' },
    },
  },
  late: {
    description: 'a third of the changes shows up eight seconds late, the clock runs 30 seconds ahead',
    options: {
      records: small,
      marketDayMs: 500,
      behaviour: { visibilityDelay: 8, visibilityDelayShare: 0.3, clockSkew: 30 },
    },
  },
  drift: {
    description: 'unknown members, values of other types, records without id or updated, milliseconds',
    options: {
      records: small,
      marketDayMs: 500,
      behaviour: {
        drift: {
          members: 0.3,
          types: 0.2,
          withoutId: 0.02,
          withoutUpdated: 0.02,
          milliseconds: 0.1,
          scale: 0.3,
          surrogates: 0.05,
        },
      },
    },
  },
  outage: {
    description: 'half of the requests fail: 5xx, HTML, resets, answers cut short or never given',
    options: {
      records: small,
      marketDayMs: 1000,
      faults: [
        { fault: { kind: 'status', status: 503 }, probability: 0.15 },
        { fault: { kind: 'status', status: 502 }, probability: 0.1 },
        { fault: { kind: 'reset' }, probability: 0.1 },
        { fault: { kind: 'truncated' }, probability: 0.1 },
        { fault: { kind: 'status', status: 200, shape: 'empty' }, probability: 0.05 },
        { fault: { kind: 'not-ok' }, probability: 0.05 },
        { fault: { kind: 'hang' }, probability: 0.02 },
      ],
    },
  },
  'rate-limited': {
    description: 'two requests a second for a token, then 429 with Retry-After',
    options: { records: medium, marketDayMs: 1000, rateLimit: { perSecond: 2, burst: 5 } },
  },
} as const satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof scenarios;
export const scenarioNames = Object.keys(scenarios) as ScenarioName[];
