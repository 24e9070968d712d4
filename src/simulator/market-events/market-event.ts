import type { FeedName, JsonRecord } from '../endpoints';
import type { Universe } from '../generator/universe';
import type { Random } from '../random';
import type { FeedStore } from '../store/store';

/** The data that an event may read and change. */
export interface MarketScene {
  readonly stores: Readonly<Record<FeedName, FeedStore>>;
  readonly universe: Universe;
  readonly random: Random;
  /** The server's now in Unix seconds. */
  now(feed: FeedName): number;
}

/** Makes one thing happen. @returns what happened, or null when nothing fits (no IPO left to withdraw) */
export type MarketEvent = (scene: MarketScene) => string | null;

const tries = 200;

/** Any record's key; undefined when there is none. */
export function pickKey(store: FeedStore, random: Random): string | undefined {
  const { byUpdated } = store.view();
  return byUpdated.length === 0 ? undefined : random.pick(byUpdated).key;
}

/** A record that fits, found by drawing: no pass over a million records. Null when none was drawn. */
export function pickRecord(
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

/** One of the newest records, since news follow on news. */
export function pickRecent(
  store: FeedStore,
  random: Random,
  among: number,
): { key: string; record: JsonRecord } | null {
  const { byUpdated } = store.view();
  if (byUpdated.length === 0) return null;
  const from = Math.max(0, byUpdated.length - among);
  const { key } = byUpdated[random.int(from, byUpdated.length - 1)]!;
  const record = store.get(key);
  return record === undefined ? null : { key, record };
}
