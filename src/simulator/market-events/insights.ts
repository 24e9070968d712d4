import { inside } from '../drift';
import type { JsonRecord } from '../endpoints';
import { createInsight, insightText, priceTarget, ratings } from '../generator/insights';
import { isoDate } from '../generator/text';
import { recordId } from '../random';
import { type MarketEvent, type MarketScene, pickRecent, pickRecord } from './market-event';

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
    analyst_insights: insightText(random, String(before.firm), String(security.name), facts, 1300),
    date: isoDate(now),
    id: recordId(random, now),
    rating_id: recordId(random, now),
    updated: now,
  });
  return `${before.firm} ${action.toLowerCase()} ${security.symbol}: ${before.rating} → ${rating}, $${was} → $${price}`;
}

export const insightEvents = {
  upgrade: (scene) => follow(scene, 'Upgrades', 1),
  downgrade: (scene) => follow(scene, 'Downgrades', -1),
  reiteration: (scene) => follow(scene, 'Reiterates', 0),
  initiation: (scene) => {
    const now = scene.now('insights');
    const record = {
      ...createInsight(scene.random, scene.universe, now, 1300),
      action: 'Initiates Coverage On',
      date: isoDate(now),
    } as JsonRecord;
    scene.stores.insights.upsert(record);
    return `${record.firm} initiates coverage on ${inside(record, 'security').symbol}: ${record.rating}`;
  },
  /** The vendor corrects by a new record with the same rating id. */
  correction: (scene) => {
    const found = pickRecent(scene.stores.insights, scene.random, 50);
    if (found === null) return null;
    const now = scene.now('insights');
    const price = (Number.parseFloat(String(found.record.pt)) || 20) + scene.random.int(1, 5);
    const id = recordId(scene.random, now);
    scene.stores.insights.upsert({ ...found.record, id, pt: priceTarget(scene.random, price), updated: now });
    return `Insight corrected: ${inside(found.record, 'security').symbol} by ${found.record.firm}, $${found.record.pt} → $${price}`;
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
