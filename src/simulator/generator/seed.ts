import { type FeedName, feedNames, type JsonRecord } from '../endpoints';
import type { Market } from '../market';
import { createRandom, hashText, type Random } from '../random';
import { createAnalyst } from './analysts';
import { createInsight } from './insights';
import { createIpo } from './ipos';
import { createUniverse, type Universe } from './universe';

/** Records of the API at the start of the simulation. */
export interface SeedOptions {
  /** Records per feed. Default none. */
  readonly records?: Partial<Record<FeedName, number>>;
  /** How far back `updated` reaches. Default 400 days. */
  readonly spreadDays?: number;
  /** Age of the newest record in seconds. Default 60. */
  readonly newestSecondsAgo?: number;
  /** Records that share one second, on average. Default 1.5. */
  readonly perSecond?: number;
  /** So many of a feed's records, at most all, have the same `updated`. */
  readonly cluster?: { readonly feed: FeedName; readonly size: number; readonly secondsAgo?: number };
}

export function seedMarket({ seed, clock, stores }: Market, options: SeedOptions): Universe {
  const { records = {}, cluster } = options;
  const now = Math.floor(clock() / 1000);
  const universe = createUniverse(createRandom(seed ^ hashText('universe')), records.analysts ?? 0, now);
  for (const feed of feedNames) {
    const count = records[feed] ?? 0;
    if (count > 0) stores[feed].load(generate(feed, count));
  }
  return universe;

  function* generate(feed: FeedName, count: number): Generator<JsonRecord> {
    const random = createRandom(seed ^ hashText(`records ${feed}`));
    const clustered = cluster?.feed === feed ? cluster.size : 0;
    const clusterSecond = now - (cluster?.secondsAgo ?? 3600);
    const seconds = createSeconds(random, count, now, options);
    const record = {
      insights: (updated: number) => createInsight(random, universe, updated),
      analysts: (updated: number, i: number) => createAnalyst(random, universe.analysts[i]!, updated),
      ipos: (updated: number) => createIpo(random, updated),
    }[feed];
    for (let i = 0; i < count; i++) yield record(i < clustered ? clusterSecond : seconds(), i);
  }
}

/** Draws seconds from a limited number of them, so that as many records share one as was asked for. */
function createSeconds(random: Random, count: number, now: number, options: SeedOptions): () => number {
  const newest = now - (options.newestSecondsAgo ?? 60);
  const span = Math.max(1, Math.floor((options.spreadDays ?? 400) * 86_400));
  const distinct = Math.max(1, Math.ceil(count / (options.perSecond ?? 1.5)));
  const gap = Math.max(1, span / distinct);
  return () => newest - Math.floor(random.int(0, distinct - 1) * gap);
}
