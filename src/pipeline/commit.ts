import type { FeedSession, TransactionBatch } from '../log/commit-log';
import type { PendingState } from '../state/feed-state';
import type { SourceOffset } from '../state/source-offset';
import type { ScanPage } from '../types';

/**
 * Commits a batch and only then moves the state. When the commit fails, the pending state is dropped with the error, and
 * the feed is as it was.
 */
export async function commit(
  batch: TransactionBatch,
  pending: PendingState,
  session: FeedSession,
): Promise<void> {
  await session.commit(batch);
  pending.settle(true);
}

/**
 * Whether a page needs a transaction. One without news does not: reading it again costs nothing but the reading. Its
 * position is written now and then, so that a restart does not begin far back and `status` sees that scans complete.
 * @param news events and dead letters of the page
 * @param before what is stored
 * @param after what would be
 */
export function isWorthCommitting(
  news: number,
  page: ScanPage,
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
    (page.progress.complete && page.observedAtMs - (completed ?? 0) >= everyMs) ||
    page.observedAtMs - before.ts_ms >= everyMs
  );
}
