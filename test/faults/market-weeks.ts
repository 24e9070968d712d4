import { type FeedName, feedNames, type JsonRecord } from '../../src/simulator/endpoints';
import { createRandom, type Random, recordId } from '../../src/simulator/random';
import { type Simulator, startSimulator } from '../../src/simulator/simulator';
import type { ApiTruth } from '../support/judge/judge';
import { editOf, faults } from './restless-market';

/** A minute is a week. */
export const PACE = 10_080;
const HOUR = 3_600;
const DAY = 24 * HOUR;

/** How far back polls look, and the widest ones, in the market's seconds: two seconds, and eight and a half, of a clock. */
export const overlapSeconds = 6 * HOUR;
export const wideOverlapSeconds = DAY;

/** Weeks of market days, a week a minute: busy while the exchanges are open, quiet at night and on weekends. */
export interface MarketWeeks {
  readonly sim: Simulator;
  /** What was done to the records so far, by kind. */
  writes(): Readonly<Record<string, number>>;
  /** Since the start, by the market's clock. */
  days(): number;
  /** The market's present. */
  nowMs(): number;
  /** From now on only this token is accepted. */
  accept(token: string): void;
  /** Nothing moves any more, and every answer is right. @returns when the last late row is shown, ms by the own clock */
  calm(): number;
  /** Times are those of the own clock, which stamps the log. */
  truth(): Record<FeedName, ApiTruth>;
  stop(): Promise<void>;
}

/** Analysts stay: some of them are shown without an id, and no record is proved gone while such rows come. */
const removable = ['insights', 'ipos'] as const;
const drift = { members: 0.05, types: 0.05, withoutUpdated: 0.01, milliseconds: 0.03, scale: 0.1 };

/**
 * The market's clock begins in the past, so that it never passes the publisher's.
 * @param everyMs between two writes while the exchanges are open
 */
export async function startMarketWeeks(
  seed: number,
  records: Readonly<Record<FeedName, number>>,
  everyMs: number,
): Promise<MarketWeeks> {
  const startedMs = Date.now();
  const firstMs = mondayMorning(startedMs - 400 * DAY * 1000);
  const clock = (): number => Math.floor(firstMs + (Date.now() - startedMs) * PACE);
  const ownMs = (marketMs: number): number => startedMs + (marketMs - firstMs) / PACE;
  const tokens = ['token-0'];
  const sim = await startSimulator({
    seed,
    records,
    clock,
    tokens,
    cluster: { feed: 'ipos', size: Math.floor(records.ipos / 5), secondsAgo: 30 * DAY },
    behaviour: { drift, visibilityDelay: 1.5 * HOUR, visibilityDelayShare: 0.2 },
    behaviours: { analysts: { ties: 'shuffled', drift: { withoutId: 0.02 } } },
    faults: [
      ...faults,
      { fault: { kind: 'short', rows: 0 }, probability: 0.004 },
      { fault: { kind: 'short', rows: 7 }, probability: 0.004 },
    ],
  });
  const random = createRandom(seed);
  const writes: Record<string, number> = {};
  const removed: Removed[] = [];
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
    const kind = disturb(sim, random, Math.floor(clock() / 1000), removed);
    writes[kind] = (writes[kind] ?? 0) + 1;
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
    writes: () => writes,
    days: () => ((Date.now() - startedMs) * PACE) / DAY / 1000,
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

/** The latest one before, an hour before the exchanges open. The epoch was a Thursday. */
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

/** One write, or a burst of them. @returns what it was */
function disturb(sim: Simulator, random: Random, now: number, removed: Removed[]): string {
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
  if (kind < 0.85) {
    store.upsert({ ...changed, updated: now }, { key });
    return 'edit';
  }
  if (kind < 0.86) {
    for (let i = 0; i < 40; i++) store.upsert({ ...record, id: recordId(random, now), updated: now });
    return 'burst';
  }
  if (kind < 0.89) return late(sim, feed, changed, now - random.int(0, overlapSeconds - 1), random, 'late');
  if (kind < 0.91)
    return late(sim, feed, changed, now - random.int(overlapSeconds, 60 * DAY), random, 'too late');
  if (kind < 0.95) {
    store.upsert(changed, { key, updated: record.updated as number });
    return 'silent';
  }
  if (kind < 0.98) return remove(sim, random, removed);
  return comeBack(sim, random, now, removed);
}

/** A record that is shown at once, and dated in the past. */
function late(
  sim: Simulator,
  feed: FeedName,
  record: JsonRecord,
  updated: number,
  random: Random,
  kind: string,
): string {
  sim.stores[feed].upsert({ ...record, id: recordId(random, updated), updated });
  return kind;
}

function remove(sim: Simulator, random: Random, removed: Removed[]): string {
  const feed = random.pick(removable);
  const store = sim.stores[feed];
  const { key } = random.pick(store.view().byUpdated);
  removed.push({ feed, key, record: store.get(key)! });
  store.remove(key);
  return 'remove';
}

/** As it was, as if it had only been hidden, or as news. */
function comeBack(sim: Simulator, random: Random, now: number, removed: Removed[]): string {
  const [back] = removed.splice(random.int(0, Math.max(0, removed.length - 1)), 1);
  if (back === undefined) return remove(sim, random, removed);
  const { feed, key, record } = back;
  const isNews = random.chance(0.6);
  sim.stores[feed].upsert(isNews ? { ...record, ...editOf(feed, record, random), updated: now } : record, {
    key,
  });
  return isNews ? 'return' : 'return unnoticed';
}
