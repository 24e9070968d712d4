import type { CommitLog } from '../log/commit-log';
import type { Elsewhere } from './readiness';

/** Probes come often; the coordinator of the group need not be asked for each. */
const KEEP_MS = 5_000;
/** Probes give up after seconds. */
const WAIT_MS = 2_000;

/** Who has the feeds that this instance waits for. Never fails. */
export function ownersElsewhere(
  log: CommitLog,
  feeds: readonly string[],
): (feed: string) => Promise<Elsewhere> {
  let asked: Promise<ReadonlyMap<string, string> | null> | null = null;
  let askedAt = Number.NEGATIVE_INFINITY;

  async function ask(): Promise<ReadonlyMap<string, string> | null> {
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

  return async (feed) => {
    if (asked === null || performance.now() - askedAt > KEEP_MS) {
      askedAt = performance.now();
      asked = ask();
    }
    const owners = await asked;
    if (owners === null) return 'unknown';
    return owners.has(feed) ? 'another instance' : 'nobody';
  };
}
