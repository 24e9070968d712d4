import type { CommitLog } from '../log/commit-log';

/** Which feeds a process owns, from acquire to release. */
export interface HeldFeeds {
  /** The log to acquire feeds of. */
  readonly log: CommitLog;
  owns(feed: string): boolean;
}

/** @param lost is told when the last hold of a feed has ended */
export function heldFeeds(log: CommitLog, lost: (feed: string) => void): HeldFeeds {
  const epochs = new Map<string, string>();
  return {
    owns: (feed) => epochs.has(feed),
    log: {
      ...log,
      async acquire(topics, signal, grant) {
        const { feed } = topics;
        const session = await log.acquire(topics, signal, grant);
        epochs.set(feed, session.ownerEpoch);
        return {
          ...session,
          async release() {
            if (epochs.get(feed) === session.ownerEpoch) {
              epochs.delete(feed);
              lost(feed);
            }
            await session.release();
          },
        };
      },
    },
  };
}
