import { feedNames } from '../endpoints';
import { type MarketEvent, pickKey } from './market-event';

/** Nothing but `updated` moves, or a decimal is written differently. No reader should hear of it. */
export const pureTouch: MarketEvent = ({ stores, random }) => {
  const filled = feedNames.filter((feed) => stores[feed].size > 0);
  if (filled.length === 0) return null;
  const feed = random.pick(filled);
  const key = pickKey(stores[feed], random)!;
  if (random.chance(0.5)) stores[feed].touch(key);
  else stores[feed].rescale(key);
  return `Touched without a change: ${feed} ${key}`;
};
