import { where } from './change-log';
import { type ApiVersion, absences, byId } from './history';
import type { Knowledge } from './knowledge';
import type { Life } from './lives';
import type { Findings } from './verdict';

/** A record may come back while its delete is on its way: after the answer that proved it gone. */
const PROOF_MS = 10_000;

/** I7 as far as a log can show it: the API did not show a deleted record, and that for a while. */
export function checkDeletes(
  feed: string,
  lives: readonly Life[],
  history: readonly ApiVersion[],
  { goneForMs = 0 }: Knowledge,
  found: Findings,
): void {
  const versions = byId(feed, history);
  for (const { row, id, envelope } of lives.flatMap(({ events }) => events)) {
    if (envelope.op !== 'd') continue;
    const at = envelope.ts_ms;
    const isProved = absences(versions.get(id) ?? []).some(
      ({ fromMs, toMs }) => fromMs <= at - goneForMs && toMs > at - PROOF_MS,
    );
    if (!isProved) found.add('I7', 'wrong', `${where(row)}: ${id} is deleted, and the API showed it`);
  }
}
