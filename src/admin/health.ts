import type { FeedVerdict } from '../feed-status/verdict';
import { boardVerdicts, type FeedBoard, type FeedStanding } from './feed-board';
import type { Owners } from './owners';

/** The answers of `/readyz` and `/livez`: 200 if `ok`, else 503. */
export interface Health {
  readonly ok: boolean;
  /** Why not: `ipos: parked by SOURCE_UNAUTHORIZED, tried again slowly`. */
  readonly reasons: readonly string[];
}

export interface ReadyHealth extends Health {
  readonly feeds: Readonly<Record<string, Pick<FeedVerdict, 'ready' | 'condition' | 'reason'>>>;
}

export async function ready(board: FeedBoard, owners: () => Promise<Owners>): Promise<ReadyHealth> {
  const verdicts = [...(await boardVerdicts(board, owners))];
  const reasons = verdicts
    .filter(([, { ready }]) => !ready)
    .map(([feed, { reason }]) => `${feed}: ${reason}`);
  const feeds = verdicts.map(([feed, { ready, condition, reason }]) => [feed, { ready, condition, reason }]);
  return { ok: reasons.length === 0, reasons, feeds: Object.fromEntries(feeds) };
}

export function live({ feeds }: FeedBoard): Health {
  const reasons = feeds.flatMap((standing) => {
    const why = silence(standing, performance.now());
    return why === null ? [] : [`${standing.feed.name}: the loop ${why}`];
  });
  return { ok: reasons.length === 0, reasons };
}

/** Longer than any pause that a feed's loop makes on purpose, and than a page with all its tries. */
const LEAST_SILENCE_MS = 15 * 60_000;

/**
 * Why a feed's loop seems to stand still, so that the process should be started again; null when it does not. A loop that
 * waits for another instance's feed has nothing to do.
 */
export function silence({ feed, phase, lastSignMs }: FeedStanding, clockMs: number): string | null {
  const silentMs = clockMs - lastSignMs;
  if (phase === 'waiting' || silentMs <= Math.max(LEAST_SILENCE_MS, 10 * feed.pollIntervalMs)) return null;
  return `has done nothing for ${Math.round(silentMs / 1_000)} s`;
}
