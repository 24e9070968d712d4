import { inside } from './drift';
import { type FeedName, feedNames, type JsonRecord } from './endpoints';
import { createAccuracy } from './generator/analysts';
import { createInsight, insightText, priceTarget, ratings } from './generator/insights';
import { createIpo } from './generator/ipos';
import { isoDate, type Universe } from './generator/universe';
import type { Market } from './market';
import { createRandom, hashText, type Random, recordId } from './random';
import type { FeedStore } from './store/store';

/** The data that an event may read and change. */
interface MarketScene {
  readonly stores: Readonly<Record<FeedName, FeedStore>>;
  readonly universe: Universe;
  readonly random: Random;
  /** The server's now in Unix seconds. */
  now(feed: FeedName): number;
}

/** Makes one thing happen. @returns what happened, or null when nothing fits (no IPO left to withdraw) */
type MarketEvent = (scene: MarketScene) => string | null;

const tries = 200;

/** Any record's key; undefined when there is none. */
function pickKey(store: FeedStore, random: Random): string | undefined {
  const { byUpdated } = store.view();
  return byUpdated.length === 0 ? undefined : random.pick(byUpdated).key;
}

/** A record that fits, found by drawing: no pass over a million records. Null when none was drawn. */
function pickRecord(
  store: FeedStore,
  random: Random,
  fits: (record: JsonRecord) => boolean,
): { key: string; record: JsonRecord } | null {
  for (let i = 0; i < tries; i++) {
    const key = pickKey(store, random);
    if (key === undefined) return null;
    const record = store.get(key);
    if (record !== undefined && fits(record)) return { key, record };
  }
  return null;
}

const day = 86_400;
const seconds = (scene: MarketScene): number => scene.now('ipos');

/** Moves an IPO that stands at one of the given statuses; `change` returns what differs afterwards. */
function move(
  from: readonly string[],
  verb: string,
  change: (record: JsonRecord, scene: MarketScene) => JsonRecord,
): MarketEvent {
  return (scene) => {
    const { ipos } = scene.stores;
    const found = pickRecord(ipos, scene.random, ({ deal_status }) => from.includes(String(deal_status)));
    if (found === null) return null;
    const record = { ...found.record, ...change(found.record, scene), updated: seconds(scene) };
    ipos.upsert(record, { key: found.key });
    return `IPO ${verb}: ${found.record.name} (${found.record.ticker})`;
  };
}

const price = (record: JsonRecord): number => Number.parseFloat(String(record.price_public_offering)) || 10;

/** Rumored → Initial Filing → Amended → Priced → Closed, or off the road as Postponed or Withdrawn. */
const ipoEvents = {
  filing: (scene) => {
    const { random, stores } = scene;
    const now = seconds(scene);
    const record: JsonRecord = {
      ...createIpo(random, now),
      id: recordId(random, now),
      deal_status: random.chance(0.2) ? 'Rumored' : 'Initial Filing',
      date: isoDate(now + random.int(10, 60) * day),
      initial_filing_date: isoDate(now),
      pricing_date: '',
      pricing_date_verified: false,
      price_open: '',
      insider_lockup_date: '',
    };
    stores.ipos.upsert(record);
    return `IPO filed: ${record.name} (${record.ticker})`;
  },
  amendment: move(['Initial Filing', 'Postponed'], 'amended', (record, { random }) => ({
    deal_status: 'Amended',
    price_min: `${Math.max(1, price(record) - random.int(1, 3))}.000`,
    price_max: `${price(record) + random.int(1, 4)}.000`,
    offering_shares: random.int(10, 400) * 100_000,
  })),
  pricing: move(['Initial Filing', 'Amended'], 'priced', (record, scene) => {
    const now = seconds(scene);
    const paid = price(record) + scene.random.int(-1, 2);
    const shares = Number(record.offering_shares) || 10_000_000;
    return {
      deal_status: 'Priced',
      date: isoDate(now + day),
      pricing_date: isoDate(now),
      pricing_date_verified: true,
      open_date_verified: true,
      price_public_offering: `${Math.max(1, paid)}.000`,
      offering_shares: shares,
      offering_value: shares * Math.max(1, paid),
      insider_lockup_date: isoDate(now + 181 * day),
    };
  }),
  closing: move(['Priced'], 'closed', (record, { random }) => ({
    deal_status: 'Closed',
    price_open: (price(record) * (0.8 + random.next() * 0.6)).toFixed(4),
  })),
  postponement: move(['Rumored', 'Initial Filing', 'Amended', 'Priced'], 'postponed', (_record, scene) => ({
    deal_status: 'Postponed',
    date: isoDate(seconds(scene) + 120 * day).slice(0, 4),
    pricing_date: '',
    pricing_date_verified: false,
  })),
  withdrawal: move(['Rumored', 'Initial Filing', 'Amended', 'Postponed'], 'withdrawn', (_record, scene) => ({
    deal_status: 'Withdrawn',
    date: isoDate(seconds(scene)).slice(0, 4),
    notes: 'Withdrawn by the issuer.',
  })),
} satisfies Record<string, MarketEvent>;

/** The latest insights of firms on securities, among the newest of all. An old one that was edited is not among them. */
function latest({ insights }: MarketScene['stores']): JsonRecord[] {
  const latest = new Map<string, JsonRecord>();
  for (const { key } of insights.view().byUpdated.slice(-400)) {
    const record = insights.get(key)!;
    if (String(record.date) < isoDate(Number(record.updated) - 86_400)) continue;
    latest.set(`${inside(record, 'security').symbol} ${record.firm_id}`, record);
  }
  return [...latest.values()];
}

/** A new insight of the same firm on the same security. */
function follow(scene: MarketScene, action: string, steps: -1 | 0 | 1): string | null {
  const { random, stores } = scene;
  const ratingAfter = ({ rating }: JsonRecord) =>
    ratings[ratings.indexOf(rating as (typeof ratings)[number]) - steps];
  const movable = latest(stores).filter((record) => ratingAfter(record) !== undefined);
  if (movable.length === 0) return null;
  const before = random.pick(movable);
  const now = scene.now('insights');
  const rating = ratingAfter(before)!;
  const was = Number.parseFloat(String(before.pt)) || 20;
  const price = Math.max(1, Math.round(was * (1 + steps * (0.05 + random.next() * 0.2)) * 2) / 2);
  const security = inside(before, 'security');
  const facts = { action, rating, price };
  stores.insights.upsert({
    ...before,
    action,
    rating,
    pt: priceTarget(random, price),
    analyst_insights: insightText(random, String(before.firm), String(security.name), facts),
    date: isoDate(now),
    id: recordId(random, now),
    rating_id: recordId(random, now),
    updated: now,
  });
  return `${before.firm} ${action.toLowerCase()} ${security.symbol}: ${before.rating} → ${rating}, $${was} → $${price}`;
}

const insightEvents = {
  upgrade: (scene) => follow(scene, 'Upgrades', 1),
  downgrade: (scene) => follow(scene, 'Downgrades', -1),
  reiteration: (scene) => follow(scene, 'Reiterates', 0),
  initiation: (scene) => {
    const now = scene.now('insights');
    const record = {
      ...createInsight(scene.random, scene.universe, now),
      action: 'Initiates Coverage On',
      date: isoDate(now),
    } as JsonRecord;
    scene.stores.insights.upsert(record);
    return `${record.firm} initiates coverage on ${inside(record, 'security').symbol}: ${record.rating}`;
  },
  /** The vendor corrects by a new record with the same rating id. */
  correction: (scene) => {
    const { random, stores } = scene;
    // One of the newest, since news follow on news.
    const recent = stores.insights.view().byUpdated.slice(-50);
    if (recent.length === 0) return null;
    const record = stores.insights.get(random.pick(recent).key)!;
    const now = scene.now('insights');
    const price = (Number.parseFloat(String(record.pt)) || 20) + random.int(1, 5);
    const id = recordId(random, now);
    stores.insights.upsert({ ...record, id, pt: priceTarget(random, price), updated: now });
    return `Insight corrected: ${inside(record, 'security').symbol} by ${record.firm}, $${record.pt} → $${price}`;
  },
  /** Rows years old are still updated. */
  oldInsight: (scene) => {
    const { insights } = scene.stores;
    const found = pickRecord(insights, scene.random, () => true);
    if (found === null) return null;
    const text = `${found.record.analyst_insights ?? ''} (Reviewed.)`;
    const updated = scene.now('insights');
    insights.upsert({ ...found.record, analyst_insights: text, updated }, { key: found.key });
    return `Old insight edited: ${inside(found.record, 'security').symbol} of ${found.record.date}`;
  },
} satisfies Record<string, MarketEvent>;

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
