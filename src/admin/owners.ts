import type { FeedOwner } from '../feed-status/verdict';
import type { CommitLog } from '../log/commit-log';

/** Probes come often; the coordinator of the group need not be asked for each. */
const KEEP_MS = 5_000;
/** Probes give up after seconds. */
const WAIT_MS = 2_000;

/** Names of live instances by feed; null while that cannot be asked. */
export type Owners = ReadonlyMap<string, string> | null;

/** The owner of each feed, asked now and then. Never fails. */
export function ownersOf(log: CommitLog, feeds: readonly string[]): () => Promise<Owners> {
  let asked: Promise<Owners> | null = null;
  let askedAt = Number.NEGATIVE_INFINITY;

  async function ask(): Promise<Owners> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), WAIT_MS);
    const given = new Promise<null>((resolve) => {
      late.signal.addEventListener('abort', () => resolve(null), { once: true });
    });
    try {
      return await Promise.race([log.owners(feeds, late.signal).catch(() => null), given]);
    } finally {
      clearTimeout(timer);
    }
  }

  return () => {
    if (asked === null || performance.now() - askedAt > KEEP_MS) {
      askedAt = performance.now();
      asked = ask();
    }
    return asked;
  };
}

export function ownerOf(owners: Owners, feed: string): FeedOwner {
  if (owners === null) return 'unknown';
  return owners.has(feed) ? 'live' : 'none';
}
