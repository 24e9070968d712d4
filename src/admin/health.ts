import type { FeedBoard } from './feed-board';
import { elsewhere, type Owners } from './owners';
import { type FeedReadiness, readiness, silence } from './readiness';

/** What `/readyz` and `/livez` answer: 200 when `ok`, else 503. */
export interface Health {
  readonly ok: boolean;
  /** Why not: `ipos: parked by SOURCE_UNAUTHORIZED, tried again slowly`. */
  readonly reasons: readonly string[];
}

export interface ReadyHealth extends Health {
  readonly feeds: Readonly<Record<string, FeedReadiness>>;
}

export async function ready({ feeds }: FeedBoard, owners: () => Promise<Owners>): Promise<ReadyHealth> {
  const found: [string, FeedReadiness][] = [];
  for (const standing of feeds) {
    const { name } = standing.feed;
    const who = standing.phase === 'waiting' ? elsewhere(await owners(), name) : 'nobody';
    found.push([name, readiness(standing, who, Date.now())]);
  }
  const reasons = found.filter(([, { ready }]) => !ready).map(([feed, { reason }]) => `${feed}: ${reason}`);
  return { ok: reasons.length === 0, reasons, feeds: Object.fromEntries(found) };
}

export function live({ feeds }: FeedBoard): Health {
  const reasons = feeds.flatMap((standing) => {
    const why = silence(standing, performance.now());
    return why === null ? [] : [`${standing.feed.name}: the loop ${why}`];
  });
  return { ok: reasons.length === 0, reasons };
}
