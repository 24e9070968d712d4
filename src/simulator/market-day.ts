import { inside } from './drift';
import { feedNames, type JsonRecord } from './endpoints';
import { createAccuracy } from './generator/analysts';
import type { Universe } from './generator/universe';
import type { Market } from './market';
import {
  insightEvents,
  ipoEvents,
  type MarketEvent,
  type MarketScene,
  pickKey,
  pickRecord,
} from './market-events';
import { createRandom, hashText } from './random';

/** Nothing but `updated` moves, or a decimal is written differently. No reader should hear of it. */
const pureTouch: MarketEvent = ({ stores, random }) => {
  const filled = feedNames.filter((feed) => stores[feed].size > 0);
  if (filled.length === 0) return null;
  const feed = random.pick(filled);
  const key = pickKey(stores[feed], random)!;
  if (random.chance(0.5)) stores[feed].touch(key);
  else stores[feed].rescale(key);
  return `Touched without a change: ${feed} ${key}`;
};

/** The vendor recalculates an analyst's statistics: one more rating, all figures move a little. */
const accuracy: MarketEvent = ({ stores, random, now }) => {
  const found = pickRecord(stores.analysts, random, () => true);
  if (found === null) return null;
  const before = inside(found.record, 'ratings_accuracy');
  const after: JsonRecord = {
    ...createAccuracy(random),
    total_ratings: Number(before.total_ratings ?? 0) + 1,
  };
  const record = { ...found.record, ratings_accuracy: after, updated: now('analysts') };
  stores.analysts.upsert(record, { key: found.key });
  return `Accuracy recalculated: ${found.record.name_full}, score ${before.smart_score} → ${after.smart_score}`;
};

const events = { ...insightEvents, ...ipoEvents, accuracy, pureTouch } satisfies Record<string, MarketEvent>;
type EventName = keyof typeof events;

/** How a day opens: whoever watches sees the most telling events first. */
const opening: readonly EventName[] = [
  'upgrade',
  'filing',
  'withdrawal',
  'downgrade',
  'pricing',
  'accuracy',
  'correction',
  'initiation',
];

/** How often each happens after that. */
const weights: Readonly<Record<EventName, number>> = {
  upgrade: 12,
  downgrade: 10,
  initiation: 10,
  reiteration: 8,
  correction: 4,
  oldInsight: 3,
  filing: 10,
  amendment: 8,
  pricing: 8,
  closing: 4,
  postponement: 4,
  withdrawal: 5,
  accuracy: 10,
  pureTouch: 6,
};
const drawn = (Object.keys(weights) as EventName[]).flatMap((name) =>
  Array<EventName>(weights[name]).fill(name),
);

/** A seeded day at the market: the same seed and records give the same events in the same order. */
export function createMarketDay({ seed, stores, serverMs }: Market, universe: Universe) {
  const random = createRandom(seed ^ hashText('market day'));
  const now: MarketScene['now'] = (feed) => Math.floor(serverMs(feed) / 1000);
  const scene: MarketScene = { stores, universe, random, now };
  let steps = 0;
  let timer: NodeJS.Timeout | null = null;

  /** Makes the next thing happen. @returns what happened, in a few words: `IPO withdrawn: Calerdex Foods Corp.` */
  function step(): string {
    const first = opening[steps++] ?? random.pick(drawn);
    // A filing is always possible, so that a day never stands still.
    return events[first](scene) ?? events[random.pick(drawn)](scene) ?? events.filing(scene)!;
  }

  return {
    step,
    /** Steps on its own; a second call changes the interval. @param listener hears of each event */
    start(intervalMs: number, listener?: (happened: string) => void): void {
      if (timer !== null) clearInterval(timer);
      timer = setInterval(() => {
        const happened = step();
        listener?.(happened);
      }, intervalMs);
      timer.unref();
    },
    stop(): void {
      if (timer !== null) clearInterval(timer);
      timer = null;
    },
  };
}
