import { type ErrorCode, HighwaterError } from '../errors';
import type { CommitLog } from '../log/commit-log';
import type { Tell } from './publisher-events';

/** A log that knows which feeds this process owns, from acquire to release, and reports each transaction. */
export interface OwnedLog {
  /** The log to acquire feeds of. */
  readonly log: CommitLog;
  owns(feed: string): boolean;
}

/** @param lost is called when this process no longer owns a feed */
export function ownedLog(log: CommitLog, tell: Tell, lost: (feed: string) => void): OwnedLog {
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
          async commit(batch) {
            const began = performance.now();
            let failure: ErrorCode | null = null;
            try {
              await session.commit(batch);
            } catch (error) {
              failure = error instanceof HighwaterError ? error.code : 'UNEXPECTED';
              throw error;
            } finally {
              tell({ kind: 'transaction', feed, failure, seconds: (performance.now() - began) / 1_000 });
            }
          },
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
