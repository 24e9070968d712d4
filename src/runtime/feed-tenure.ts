import { joinSignals } from '../async/wait';
import { HighwaterError } from '../errors';
import type { Feed } from '../feeds/feed';
import type { Grant, Membership } from '../log/membership';
import { type FeedWork, type FeedWorkDeps, feedWork } from './feed-work';
import { acquireFeed, type OwnedFeed, type OwnedFeedDeps } from './owned-feed';
import type { Standby } from './standby';

export interface FeedTenureDeps extends OwnedFeedDeps, FeedWorkDeps {
  /** By which this instance is told which feeds are its own. */
  readonly membership: Membership;
  /** Called when the feed is released, with the end of keeping its images. The next owner need not wait for that. */
  readonly onClosing?: (closed: Promise<void>) => void;
  /** Begins to copy the images of the owner; left out: a takeover reads them from the log. */
  readonly standBy?: () => Standby;
}

/** From the grant to its end. */
interface Held {
  readonly grant: Grant;
  readonly work: FeedWork;
  /** Aborted when the grant is revoked, or by the signal. */
  readonly over: AbortSignal;
  leave(): void;
}

/** This instance's hold of a feed: none, then the group's grant, then the feed itself with its state in memory. */
export function feedTenure(feed: Feed, deps: FeedTenureDeps, once: boolean, signal: AbortSignal) {
  const { membership, tell } = deps;
  let held: Held | null = null;
  let owned: OwnedFeed | null = null;
  /** Resolves when the images of the last ownership, or of the standby, are kept. */
  let closed = Promise.resolve();
  let standby: Standby | null = null;

  function closing(kept: Promise<void>): void {
    closed = kept.catch(() => undefined);
    deps.onClosing?.(closed);
  }

  /** The next owner in this folder, here or in a later process, goes on with the copy. */
  function endStandby(): void {
    if (standby !== null) closing(standby.end());
    standby = null;
  }

  async function hold(): Promise<Held> {
    tell({ kind: 'waiting', feed: feed.name });
    // The copy begins with the images of the last ownership, which are kept first.
    await closed;
    standby ??= deps.standBy?.() ?? null;
    const grant = await membership.grant(feed.name, signal);
    endStandby();
    const { signal: over, leave } = joinSignals([signal, grant.revoked]);
    return { grant, work: feedWork(feed, deps, once), over, leave };
  }

  const tenure = {
    /** Null until the others have granted the feed. */
    get held(): Held | null {
      return held;
    },
    /** Null until the feed is acquired and its state is read back. */
    get owned(): OwnedFeed | null {
      return owned;
    },
    /** The feed has become another instance's: `leave` is to be called. */
    get isRevoked(): boolean {
      return held?.grant.revoked.aborted ?? false;
    },
    /** Takes the steps that are missing. @param isLossTold as `acquireFeed`. @throws HighwaterError of the membership, or as `acquireFeed` */
    async own(isLossTold = false): Promise<{ readonly held: Held; readonly owned: OwnedFeed }> {
      held ??= await hold();
      if (owned === null) {
        tell({ kind: 'restoring', feed: feed.name });
        await closed;
        owned = await takeOver(feed, { ...deps, isLossTold }, held);
      }
      return { held, owned };
    },
    /** Gives up the state, and keeps the grant. @throws HighwaterError LOG_GONE */
    async release(): Promise<void> {
      const had = owned;
      owned = null;
      if (had === null) return;
      await letGo(had).finally(() => {
        closing(had.close());
      });
    },
    /** Gives up both. @throws HighwaterError LOG_GONE */
    async leave(): Promise<void> {
      try {
        await tenure.release();
      } finally {
        endStandby();
        held?.leave();
        held = null;
      }
    },
  };
  return tenure;
}

async function takeOver(feed: Feed, deps: FeedTenureDeps, { grant, over }: Held): Promise<OwnedFeed> {
  const { tell } = deps;
  const telling: OwnedFeedDeps = {
    ...deps,
    onTouch: () => tell({ kind: 'touched', feed: feed.name }),
    onOtherChanges: (changes, observedAtMs) =>
      tell({ kind: 'otherChanges', feed: feed.name, changes, observedAtMs }),
    // A sign of life: a large state takes a while, and nobody must take that for a loop that stands still.
    onRestore(name, progress) {
      deps.onRestore?.(name, progress);
      tell({ kind: 'restoring', feed: name });
    },
  };
  const owned = await acquireFeed(feed, telling, over, grant);
  const { state, drift } = owned.deps;
  tell({ kind: 'acquired', feed: feed.name, state, drift });
  return owned;
}

/**
 * An error while releasing must not hide the reason for it, nor end the other feeds. The next owner fences this one anyway.
 * @throws HighwaterError LOG_GONE: the committed records are not in their place
 */
async function letGo({ release, deps }: OwnedFeed): Promise<void> {
  await release().catch((error: unknown) => {
    if (error instanceof HighwaterError && error.code === 'LOG_GONE') throw error;
    deps.logger.debug('the feed could not be released', { feed: deps.topics.feed, error });
  });
}
