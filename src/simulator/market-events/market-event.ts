import type { FeedName } from '../endpoints';
import type { Universe } from '../generator/universe';
import type { Random } from '../random';
import type { FeedStore } from '../store/store';

/** What an event may look at and change. */
export interface MarketScene {
  readonly stores: Readonly<Record<FeedName, FeedStore>>;
  readonly universe: Universe;
  readonly random: Random;
  /** The server's now in Unix seconds. */
  now(feed: FeedName): number;
}

/** Makes one thing happen. @returns what happened, or null when nothing fits (no IPO left to withdraw) */
export type MarketEvent = (scene: MarketScene) => string | null;
