import type { FeedSession, TransactionBatch } from '../log/commit-log';
import type { PendingState } from '../state/pending-state';
import type { SourceOffset } from '../state/source-offset';
import type { ScanPage } from '../types';

/**
 * Commits a transaction and only then moves the state. When that fails, the pending state is dropped with the error, and
 * the feed is as it was.
 */
export async function commit(
  transaction: TransactionBatch,
  pending: PendingState,
  session: FeedSession,
): Promise<void> {
  await session.commit(transaction);
  pending.settle();
}

/**
 * Whether pages need a transaction. Without news they do not: reading them again costs nothing but the reading. Their
 * position is written now and then, so that a restart does not begin far back and `status` sees that scans complete.
 * @param news events and dead letters of the pages
 * @param page the last of them
 * @param before what is stored
 * @param after what would be
 */
export function isWorthCommitting(
  news: number,
  page: Pick<ScanPage, 'progress' | 'observedAtMs'>,
  before: SourceOffset,
  after: SourceOffset,
  everyMs: number,
): boolean {
  const { last_complete_scan_ms: completed } = before;
  return (
    news > 0 ||
    after.snapshot !== before.snapshot ||
    after.page_offset_unit !== before.page_offset_unit ||
    after.page_size !== before.page_size ||
    after.ordered !== before.ordered ||
    after.last_error !== before.last_error ||
    after.parked !== before.parked ||
    // That one begins, and that it has reached its end; what lies between is written now and then.
    after.backfill?.asked_ms !== before.backfill?.asked_ms ||
    (page.progress.complete && page.observedAtMs - (completed ?? 0) >= everyMs) ||
    page.observedAtMs - before.ts_ms >= everyMs
  );
}
