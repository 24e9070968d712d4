import type { FeedName } from '../../../src/simulator/endpoints';
import { type Simulator, type SimulatorOptions, startSimulator } from '../../../src/simulator/simulator';

export type Row = { id: string; updated: number; [member: string]: unknown };
export type Query = Record<string, string | number>;

/** Spelled out here as the vendor documents it, so that a wrong endpoint table fails. */
const spelling = {
  insights: {
    path: '/api/v1/analyst/insights',
    key: 'analyst-insights',
    size: 'pageSize',
    since: 'parameters[updated]',
  },
  analysts: {
    path: '/api/v2.1/calendar/ratings/analysts',
    key: 'analyst_ratings_analyst',
    size: 'pageSize',
    since: 'updated',
  },
  ipos: { path: '/api/v2.1/calendar/ipos', key: 'ipos', size: 'pagesize', since: 'parameters[updated]' },
} as const satisfies Record<FeedName, unknown>;

const allDates = { date_from: '1900-01-01', date_to: '2100-01-01' };

export function address(simulator: Simulator, feed: FeedName, query: Query = {}): string {
  const parameters = new URLSearchParams({ token: simulator.token });
  for (const [name, value] of Object.entries(query)) parameters.set(name, String(value));
  return `${simulator.url}${spelling[feed].path}?${parameters}`;
}

export function ask(simulator: Simulator, feed: FeedName, query: Query = {}, init: RequestInit = {}) {
  return fetch(address(simulator, feed, query), init);
}

/** One page, read as a careful client would ask for it. */
export async function page(
  simulator: Simulator,
  feed: FeedName,
  number: number,
  size: number,
  since: number | null = 0,
  more: Query = {},
): Promise<Row[]> {
  const { key, size: sizeName, since: sinceName } = spelling[feed];
  const response = await ask(simulator, feed, {
    page: number,
    [sizeName]: size,
    ...(since === null ? {} : { [sinceName]: since }),
    ...(feed === 'insights' ? allDates : {}),
    ...more,
  });
  const body = (await response.json()) as Record<string, Row[]>;
  if (response.status !== 200) throw new Error(`${response.status} ${JSON.stringify(body)}`);
  return body[key]!;
}

export const ids = (rows: readonly Row[]): string[] => rows.map(({ id }) => id);
export const seconds = (rows: readonly Row[]): number[] => rows.map(({ updated }) => updated);

/** Runs with a simulator that is stopped also when the test fails. */
export async function withSimulator(
  options: SimulatorOptions,
  run: (simulator: Simulator) => Promise<void>,
): Promise<void> {
  const simulator = await startSimulator(options);
  try {
    await run(simulator);
  } finally {
    await simulator.stop();
  }
}

/** IPOs `r1`, `r2`, … with the given `updated` each. */
export function fill(simulator: Simulator, updated: readonly number[], feed: FeedName = 'ipos'): void {
  for (const [i, second] of updated.entries()) {
    simulator.stores[feed].upsert({ id: `r${i + 1}`, date: '2026-01-05', updated: second });
  }
}
