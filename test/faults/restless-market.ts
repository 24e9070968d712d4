import { type FeedName, feedNames, type JsonRecord } from '../../src/simulator/endpoints';
import type { FaultRule } from '../../src/simulator/http/faults';
import { createRandom, type Random, recordId } from '../../src/simulator/random';
import { type Simulator, type SimulatorOptions, startSimulator } from '../../src/simulator/simulator';
import type { ApiTruth } from '../support/judge/judge';

/** A market that moves all the time, by every means that has made a publisher stumble. */
export interface RestlessMarket {
  readonly sim: Simulator;
  /** Writes so far. */
  writes(): number;
  /** Versions that were written and are shown later, so far. */
  lateWrites(): number;
  /** Nothing moves any more and every answer is right. @returns when the last late row becomes visible, ms */
  calm(): number;
  truth(): Record<FeedName, ApiTruth>;
  stop(): Promise<void>;
}

const drift: NonNullable<NonNullable<SimulatorOptions['behaviour']>['drift']> = {
  members: 0.05,
  types: 0.05,
  withoutId: 0.01,
  withoutUpdated: 0.01,
  milliseconds: 0.03,
  scale: 0.1,
  surrogates: 0.03,
};

export const faults: readonly FaultRule[] = [
  { fault: { kind: 'delay', ms: 25 }, probability: 0.05 },
  { fault: { kind: 'status', status: 503 }, probability: 0.006 },
  { fault: { kind: 'status', status: 429 }, probability: 0.004 },
  { fault: { kind: 'reset' }, probability: 0.004 },
  { fault: { kind: 'reset', when: 'middle' }, probability: 0.004 },
  { fault: { kind: 'truncated' }, probability: 0.004 },
  { fault: { kind: 'status', status: 200, shape: 'html' }, probability: 0.003 },
  { fault: { kind: 'not-ok' }, probability: 0.003 },
];

export interface MarketSize {
  readonly records: Readonly<Record<FeedName, number>>;
  /** Between two writes. */
  readonly everyMs: number;
}

export async function startRestlessMarket(seed: number, size: MarketSize): Promise<RestlessMarket> {
  const sim = await startSimulator({
    seed,
    records: size.records,
    cluster: { feed: 'ipos', size: Math.floor(size.records.ipos / 5) },
    behaviour: {
      drift,
      visibilityDelay: 1.5,
      visibilityDelayShare: 0.3,
    },
    behaviours: { analysts: { ties: 'shuffled' } },
    faults,
  });
  const random = createRandom(seed);
  let writes = 0;
  const timer = setInterval(() => {
    writes++;
    if (writes % 200 === 0) driftOn(sim, random);
    disturb(sim, random);
  }, size.everyMs);

  return {
    sim,
    writes: () => writes,
    lateWrites: lateCounter(sim),
    calm() {
      clearInterval(timer);
      sim.clearFaults();
      sim.behave({ moveRowsPerRequest: 0 });
      const visible = feedNames.flatMap((feed) =>
        sim.history(feed).map(({ visibleFromMs }) => visibleFromMs),
      );
      return visible.reduce((latest, at) => Math.max(latest, at), Date.now());
    },
    truth: () => ({
      insights: truthOf(sim, 'insights'),
      analysts: truthOf(sim, 'analysts'),
      ipos: truthOf(sim, 'ipos'),
    }),
    async stop() {
      clearInterval(timer);
      await sim.stop();
    },
  };
}

/** Reads each entry of the history once: in a long run the whole of it is too much for every call. */
function lateCounter(sim: Simulator): () => number {
  const read = { insights: 0, analysts: 0, ipos: 0 };
  let late = 0;
  return () => {
    for (const feed of feedNames) {
      const entries = sim.history(feed, read[feed]);
      read[feed] += entries.length;
      late += entries.filter(({ atMs, visibleFromMs }) => visibleFromMs > atMs).length;
    }
    return late;
  };
}

export function truthOf(sim: Simulator, feed: FeedName): ApiTruth {
  const history = sim.history(feed).map(({ id, record, visibleFromMs }) => {
    return { id, record, shownFromMs: visibleFromMs, serverSecond: visibleFromMs / 1000 };
  });
  return { history, records: sim.truth(feed), unusable: sim.stores[feed].unusable() };
}

/** One write, or a burst of them. */
function disturb(sim: Simulator, random: Random): void {
  const kind = random.next();
  const feed = random.pick(feedNames);
  const { stores } = sim;
  const { byUpdated } = stores[feed].view();
  const { key } = random.pick(byUpdated);
  if (kind < 0.5) sim.marketDay.step();
  else if (kind < 0.6) stores[feed].touch(key);
  else if (kind < 0.7) stores[feed].rescale(key);
  else if (kind < 0.99) edit(sim, feed, key, random);
  else burst(sim, feed, key, random);
}

function edit(sim: Simulator, feed: FeedName, key: string, random: Random): void {
  const store = sim.stores[feed];
  const record = store.get(key)!;
  const updated = Math.floor(Date.now() / 1000);
  store.upsert({ ...record, ...editOf(feed, record, random), updated }, { key });
}

/** A change of some members. Some return to an earlier value, some are not new. */
export function editOf(feed: FeedName, record: JsonRecord, random: Random): JsonRecord {
  switch (feed) {
    case 'insights':
      return {
        rating: random.pick(['Buy', 'Hold', 'Sell']),
        date: random.chance(0.2) ? '2024-01-02' : record.date,
      };
    case 'analysts':
      return {
        firm_name: random.pick(['Alpha & Söhne', 'Beta 株式会社', 'Gamma']),
        ratings_accuracy: {
          ...(record.ratings_accuracy as JsonRecord),
          '1y_loss_count': random.int(0, 2),
          smart_score: random.pick(['50.00', '50.0', '51.25']),
        },
      };
    case 'ipos':
      return {
        deal_status: random.pick(['Priced', 'Postponed', 'Withdrawn', '']),
        sic: random.pick([0, 7372]),
        last_yr_income: 0,
        last_yr_income_year: random.pick([0, 2024]),
        price_min: random.pick(['', '9.5', '9.500']),
        lead_underwriters: random.chance(0.5) ? [] : ['One Securities', 'Two Securities'],
      };
  }
}

/** More records within one second than a page holds. */
function burst(sim: Simulator, feed: FeedName, key: string, random: Random): void {
  const store = sim.stores[feed];
  const record = store.get(key)!;
  const updated = Math.floor(Date.now() / 1000);
  for (let i = 0; i < 60; i++) store.upsert({ ...record, id: recordId(random, updated), updated });
}

/**
 * From now on other records than before have unknown members and values of other types, and rows move under the reader or
 * leave it in peace.
 */
function driftOn(sim: Simulator, random: Random): void {
  sim.behave({
    drift: { members: random.next() * 0.3, types: random.next() * 0.3, scale: random.next() * 0.3 },
    moveRowsPerRequest: random.int(0, 1),
  });
}
