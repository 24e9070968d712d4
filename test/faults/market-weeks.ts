import { type FeedName, feedNames, type JsonRecord } from '../../src/simulator/endpoints';
import { createRandom, type Random, recordId } from '../../src/simulator/random';
import { type Simulator, startSimulator } from '../../src/simulator/simulator';
import type { ApiTruth } from '../support/judge/judge';
import { editOf, faults } from './restless-market';

const HOUR = 3_600;
const DAY = 24 * HOUR;

export interface MarketOptions {
  readonly seed: number;
  /** At the start. A feed that has twice as many grows no further. */
  readonly records: Readonly<Record<FeedName, number>>;
  /** Between two writes while the exchanges are open. */
  readonly everyMs: number;
  /** Default 1. */
  readonly weeksPerMinute?: number;
}

/** Weeks of market days: busy while the exchanges are open, quiet at night and on weekends. */
export interface MarketWeeks {
  readonly sim: Simulator;
  /** How far back polls look, in the market's seconds: two seconds of a clock. */
  readonly overlapSeconds: number;
  /** Number of writes so far, by kind. */
  writes(): Readonly<Record<string, number>>;
  /** Since the start, by the market's clock. */
  days(): number;
  /** The market's present. */
  nowMs(): number;
  /** From now on only this token is accepted. */
  accept(token: string): void;
  /** Nothing moves any more, and every answer is right. @returns when the last late row is shown, ms by the own clock */
  calm(): number;
  /** All times are of the own clock, which also stamps the log. */
  truth(): Record<FeedName, ApiTruth>;
  stop(): Promise<void>;
}

/** Analysts stay: some of them are shown without an id, and no record is proved gone while such rows come. */
const removable = ['insights', 'ipos'] as const;
const drift = { members: 0.05, types: 0.05, withoutUpdated: 0.01, milliseconds: 0.03, scale: 0.1 };

/** The market's clock begins in the past, so that it never passes the publisher's. */
export async function startMarketWeeks(options: MarketOptions): Promise<MarketWeeks> {
  const { seed, records, everyMs, weeksPerMinute = 1 } = options;
  const pace = 10_080 * weeksPerMinute;
  const overlapSeconds = 6 * HOUR * weeksPerMinute;
  const startedMs = Date.now();
  const firstMs = mondayMorning(startedMs - 800 * DAY * 1000);
  const clock = (): number => Math.floor(firstMs + (Date.now() - startedMs) * pace);
  const ownMs = (marketMs: number): number => startedMs + (marketMs - firstMs) / pace;
  const tokens = ['token-0'];
  const sim = await startSimulator({
    seed,
    records,
    clock,
    tokens,
    cluster: { feed: 'ipos', size: Math.floor(records.ipos / 5), secondsAgo: 30 * DAY },
    behaviour: { drift, visibilityDelay: 1.5 * HOUR * weeksPerMinute, visibilityDelayShare: 0.2 },
    behaviours: { analysts: { ties: 'shuffled', drift: { withoutId: 0.02 } } },
    faults: [
      ...faults,
      { fault: { kind: 'short', rows: 0 }, probability: 0.004 },
      { fault: { kind: 'short', rows: 7 }, probability: 0.004 },
    ],
  });
  const random = createRandom(seed);
  const writes: Record<string, number> = {};
  const scene: Scene = { sim, random, overlapSeconds, records, removed: [] };
  let ticks = 0;
  const timer = setInterval(() => {
    ticks++;
    const hour = (clock() / 1000 / HOUR) % 24;
    const isWeekend = [0, 6].includes(new Date(clock()).getUTCDay());
    const isOpen = !isWeekend && hour >= 13 && hour < 20;
    if (!isOpen && !random.chance(0.15)) return;
    if (ticks % 200 === 0)
      sim.behave({
        drift: { members: random.next() * 0.3, types: random.next() * 0.3, scale: random.next() * 0.3 },
        moveRowsPerRequest: random.int(0, 1),
      });
    const now = Math.floor(clock() / 1000);
    const kinds = [
      disturb(scene, now),
      ...removable.filter((feed) => isFull(scene, feed)).map((feed) => remove(scene, feed)),
    ];
    for (const kind of kinds) writes[kind] = (writes[kind] ?? 0) + 1;
  }, everyMs);

  const truthOf = (feed: FeedName): ApiTruth => ({
    history: sim.history(feed).map(({ id, record, visibleFromMs }) => {
      return { id, record, shownFromMs: ownMs(visibleFromMs), serverSecond: visibleFromMs / 1000 };
    }),
    records: sim.truth(feed),
    unusable: sim.stores[feed].unusable(),
  });
  return {
    sim,
    overlapSeconds,
    writes: () => writes,
    days: () => ((Date.now() - startedMs) * pace) / DAY / 1000,
    nowMs: clock,
    accept(token) {
      tokens[0] = token;
    },
    calm() {
      clearInterval(timer);
      sim.clearFaults();
      sim.behave({ moveRowsPerRequest: 0 });
      const shown = feedNames.flatMap((feed) => sim.history(feed).map(({ visibleFromMs }) => visibleFromMs));
      return Math.ceil(ownMs(shown.reduce((latest, at) => Math.max(latest, at), clock())));
    },
    truth: () => ({
      insights: truthOf('insights'),
      analysts: truthOf('analysts'),
      ipos: truthOf('ipos'),
    }),
    async stop() {
      clearInterval(timer);
      await sim.stop();
    },
  };
}

/** The latest Monday before, an hour before the exchanges open. The epoch was a Thursday. */
function mondayMorning(ms: number): number {
  const week = 7 * DAY * 1000;
  const first = 4 * DAY * 1000 + 12 * HOUR * 1000;
  return Math.floor((ms - first) / week) * week + first;
}

interface Removed {
  readonly feed: (typeof removable)[number];
  readonly key: string;
  readonly record: JsonRecord;
}

interface Scene {
  readonly sim: Simulator;
  readonly random: Random;
  readonly overlapSeconds: number;
  readonly records: Readonly<Record<FeedName, number>>;
  readonly removed: Removed[];
}

function isFull({ sim, records }: Scene, feed: FeedName): boolean {
  return sim.stores[feed].size >= 2 * records[feed];
}

/** One write, or a burst of them. @returns its kind */
function disturb(scene: Scene, now: number): string {
  const { sim, random, overlapSeconds } = scene;
  const kind = random.next();
  const feed = random.pick(feedNames);
  const store = sim.stores[feed];
  const { key } = random.pick(store.view().byUpdated);
  const record = store.get(key)!;
  const changed = { ...record, ...editOf(feed, record, random) };
  if (kind < 0.5) {
    sim.marketDay.step();
    return 'day';
  }
  if (kind < 0.6) {
    store.touch(key);
    return 'touch';
  }
  if (kind < 0.65) {
    store.rescale(key);
    return 'rescale';
  }
  // Analysts are never removed, so that a full feed of them gets no new records.
  const staysFull = feed === 'analysts' && isFull(scene, feed);
  if (kind < 0.85 || (staysFull && kind >= 0.86 && kind < 0.91)) {
    store.upsert({ ...changed, updated: now }, { key });
    return 'edit';
  }
  if (kind < 0.86) return burst(scene, feed, record, now);
  if (kind < 0.89) return late(scene, feed, changed, now - random.int(0, overlapSeconds - 1), 'late');
  if (kind < 0.91) return late(scene, feed, changed, now - random.int(overlapSeconds, 60 * DAY), 'too late');
  if (kind < 0.95) {
    store.upsert(changed, { key, updated: record.updated as number });
    return 'silent';
  }
  if (kind < 0.98) return remove(scene, random.pick(removable));
  return comeBack(scene, now);
}

/** Within one second: new records, or in a full feed edits of known ones. */
function burst(scene: Scene, feed: FeedName, record: JsonRecord, now: number): string {
  const { sim, random } = scene;
  const store = sim.stores[feed];
  for (let i = 0; i < 40; i++) {
    if (isFull(scene, feed)) {
      const { key } = random.pick(store.view().byUpdated);
      const known = store.get(key)!;
      store.upsert({ ...known, ...editOf(feed, known, random), updated: now }, { key });
    } else store.upsert({ ...record, id: recordId(random, now), updated: now });
  }
  return 'burst';
}

/** A record that is shown at once, and dated in the past. */
function late(
  { sim, random }: Scene,
  feed: FeedName,
  record: JsonRecord,
  updated: number,
  kind: string,
): string {
  sim.stores[feed].upsert({ ...record, id: recordId(random, updated), updated });
  return kind;
}

function remove({ sim, random, removed }: Scene, feed: Removed['feed']): string {
  const store = sim.stores[feed];
  const { key } = random.pick(store.view().byUpdated);
  removed.push({ feed, key, record: store.get(key)! });
  store.remove(key);
  return 'remove';
}

/** As it was, as if it had only been hidden, or as news. */
function comeBack(scene: Scene, now: number): string {
  const { sim, random, removed } = scene;
  const [back] = removed.splice(random.int(0, Math.max(0, removed.length - 1)), 1);
  if (back === undefined) return remove(scene, random.pick(removable));
  const { feed, key, record } = back;
  const isNews = random.chance(0.6);
  sim.stores[feed].upsert(isNews ? { ...record, ...editOf(feed, record, random), updated: now } : record, {
    key,
  });
  return isNews ? 'return' : 'return unnoticed';
}
