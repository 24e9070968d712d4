import { inside } from '../drift';
import type { JsonRecord } from '../endpoints';
import { createAccuracy } from '../generator/analysts';
import { type MarketEvent, pickRecord } from './market-event';

export const analystEvents = {
  /** The vendor recalculates an analyst's statistics: one more rating, all figures move a little. */
  accuracy: ({ stores, random, now }) => {
    const found = pickRecord(stores.analysts, random, () => true);
    if (found === null) return null;
    const before = inside(found.record, 'ratings_accuracy');
    const accuracy = { ...createAccuracy(random), total_ratings: Number(before.total_ratings ?? 0) + 1 };
    const record = { ...found.record, ratings_accuracy: accuracy, updated: now('analysts') };
    stores.analysts.upsert(record, { key: found.key });
    return `Accuracy recalculated: ${found.record.name_full}, score ${before.smart_score} → ${(accuracy as JsonRecord).smart_score}`;
  },
} satisfies Record<string, MarketEvent>;
