import { type FeedName, feedNames } from './endpoints';
import type { Universe } from './generator/universe';
import { analystEvents } from './market-events/analysts';
import { insightEvents } from './market-events/insights';
import { ipoEvents } from './market-events/ipos';
import { type MarketEvent, type MarketScene, pickKey } from './market-events/market-event';
import { createRandom, hashText } from './random';
import type { FeedStore } from './store/store';

export interface MarketDay {
  /** Makes the next thing happen. @returns what happened, in a few words: `IPO withdrawn: Calerdex Foods Corp.` */
  step(): string;
  /** Steps on its own; a second call changes the interval. @param listener hears of each event */
  start(intervalMs: number, listener?: (happened: string) => void): void;
  stop(): void;
}

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

const events = { ...insightEvents, ...ipoEvents, ...analystEvents, pureTouch } satisfies Record<
  string,
  MarketEvent
>;
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

export interface MarketDayDeps {
  readonly stores: Readonly<Record<FeedName, FeedStore>>;
  readonly universe: Universe;
  readonly seed: number;
  /** Milliseconds of the server's clock. */
  readonly serverMs: (feed: FeedName) => number;
}

/** A seeded day at the market: the same seed and records give the same events in the same order. */
export function createMarketDay(deps: MarketDayDeps): MarketDay {
  const random = createRandom(deps.seed ^ hashText('market day'));
  const scene: MarketScene = {
    stores: deps.stores,
    universe: deps.universe,
    random,
    now: (feed) => Math.floor(deps.serverMs(feed) / 1000),
  };
  let steps = 0;
  let timer: NodeJS.Timeout | null = null;

  function step(): string {
    const first = opening[steps++] ?? random.pick(drawn);
    // A filing is always possible, so that a day never stands still.
    return events[first](scene) ?? events[random.pick(drawn)](scene) ?? events.filing(scene)!;
  }

  return {
    step,
    start(intervalMs, listener) {
      if (timer !== null) clearInterval(timer);
      timer = setInterval(() => {
        const happened = step();
        listener?.(happened);
      }, intervalMs);
      timer.unref();
    },
    stop() {
      if (timer !== null) clearInterval(timer);
      timer = null;
    },
  };
}
