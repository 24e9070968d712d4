import type { Gathered } from '../../log/commit-log';
import type { FeedState, PendingState } from '../../state/feed-state';
import type { SourceOffset } from '../../state/source-offset';
import type { ScanPage } from '../../types';
import type { PageNews } from '../changes/page-changes';
import type { Encoder } from './encode';
import { type TransactionDeps, transactGathered } from './transact';

/** More pages gain nothing: by then the cost of a transaction is a small part of the cost of its pages. */
const MOST_PAGES = 5;
/** Bytes of encoded values. Bounds the memory, and the time for which a transaction is open. */
const MOST_BYTES = 8 * 2 ** 20;

/**
 * Pages that are committed together in one transaction, while a scan catches up. Each page is compared with the state after the pages
 * before it. A page waits only as long as waiting helps: see `isDue`.
 */
export interface Batch {
  /** A layer for the next page over the state after all pages so far. Dropped unless the page is added. */
  begin(): PendingState;
  /** Adds a page; `pending` is its layer. */
  add(page: ScanPage, news: PageNews, pending: PendingState): void;
  /** Waiting for another page does not help. */
  isDue(): boolean;
  /**
   * Begins to commit all pages, as soon as the previous commit has ended, and does not wait for the end. Pages that are added
   * during the commit are compared with the state after these pages, and dropped with them if it fails.
   * @throws the error of the previous commit; the batch cannot be used after it
   */
  flush(): Promise<void>;
  /** Waits until all pages are committed. @throws as `flush`, the error of any commit */
  commit(): Promise<void>;
}

/**
 * A page that waits for its commit, without its rows, events and records: the garbage collector would copy thousands of objects again
 * and again. The records wait in the form in which the log writes them.
 */
export interface BatchPage
  extends Pick<PageNews, 'changes' | 'letters'>,
    Pick<ScanPage, 'progress' | 'observedAtMs'> {
  readonly rows: number;
}

export interface BatchDeps extends TransactionDeps {
  readonly state: FeedState;
  readonly encoder: Pick<Encoder, 'encode'>;
}

/** @param onCommitted called for each page once it is committed, in order */
export function openBatch(deps: BatchDeps, onCommitted: (page: BatchPage) => void): Batch {
  const { feed, state, session, encoder } = deps;
  /** A layer for the pages under commit, and above it a layer for the pages that gather meanwhile. */
  const committing = state.begin();
  const gathering = committing.begin();
  let pages: BatchPage[] = [];
  let records = session.gather();
  let marksBack = false;
  let underWay: Promise<void> = Promise.resolve();

  function startCommit(): void {
    if (pages.length === 0) return;
    underWay = commitPages(pages, records);
    // The next caller gets the error. Until then it must not be an unhandled rejection.
    underWay.catch(() => undefined);
    pages = [];
    records = session.gather();
    marksBack = false;
  }

  async function commitPages(committed: readonly BatchPage[], gathered: Gathered): Promise<void> {
    const last = committed.at(-1)!;
    gathering.settle();
    if (
      newsOf(committed) > 0 ||
      isWorthCommitting(last, state.storedOffset, committing.offset, feed.pollIntervalMs)
    ) {
      await transactGathered(deps, committing, gathered, last.observedAtMs);
    } else {
      await committing.settle(); // nothing but the position moved
    }
    for (const page of committed) onCommitted(page);
  }

  return {
    begin: () => gathering.begin(),
    add(page, news, layer) {
      const { high_water_mark: before } = gathering.offset;
      // First, because the state must not have the page if it fails.
      records.add(encoder.encode(news.events, news.letters, page.observedAtMs));
      layer.settle();
      // The mark goes back if the rows had no order after all. That must not be lost.
      marksBack ||= gathering.offset.high_water_mark < before;
      pages.push(batchPage(page, news));
    },
    isDue() {
      const last = pages.at(-1);
      return (
        last === undefined ||
        last.progress.complete ||
        pages.length >= MOST_PAGES ||
        records.valueBytes >= MOST_BYTES ||
        marksBack ||
        // Pages without news need no transaction, so there is none to share.
        newsOf(pages) === 0
      );
    },
    async flush() {
      await underWay;
      startCommit();
    },
    async commit() {
      await underWay;
      startCommit();
      await underWay;
    },
  };
}

/**
 * A batch for a dry run: nothing is committed, and the state stays as it is.
 * @param onPage called for each page with what would be published
 */
export function rehearsedBatch(state: FeedState, onPage: (page: BatchPage) => void): Batch {
  const imagined = state.begin();
  return {
    begin: () => imagined.begin(),
    add(page, news, layer) {
      layer.settle();
      onPage(batchPage(page, news));
    },
    isDue: () => true,
    flush: async () => undefined,
    commit: async () => undefined,
  };
}

function batchPage({ rows, progress, observedAtMs }: ScanPage, { changes, letters }: PageNews): BatchPage {
  return { changes, letters, rows: rows.length, progress, observedAtMs };
}

function newsOf(pages: readonly BatchPage[]): number {
  return pages.reduce((sum, { changes, letters }) => sum + changes.count + letters.length, 0);
}

/**
 * Whether pages without news need a transaction. Usually they do not, since they can be read again. Their position is written now and
 * then, so that a restart does not begin far back and `status` sees that scans complete. It is written at once if the poll interval
 * has changed, because `status` uses the interval to say whether the feed is behind.
 * @param page the last one
 * @param before the stored offset
 * @param after the offset that would be stored
 * @param everyMs the feed's poll interval
 */
function isWorthCommitting(
  page: Pick<ScanPage, 'progress' | 'observedAtMs'>,
  before: SourceOffset,
  after: SourceOffset,
  everyMs: number,
): boolean {
  const { last_complete_scan_ms: completed } = before;
  return (
    after.snapshot !== before.snapshot ||
    after.page_offset_unit !== before.page_offset_unit ||
    after.page_size !== before.page_size ||
    after.ordered !== before.ordered ||
    after.last_error !== before.last_error ||
    after.parked !== before.parked ||
    before.poll_interval_ms !== everyMs ||
    // A backfill has begun or ended; its progress in between is written now and then.
    after.backfill?.asked_ms !== before.backfill?.asked_ms ||
    (page.progress.complete && page.observedAtMs - (completed ?? 0) >= everyMs) ||
    page.observedAtMs - before.ts_ms >= everyMs
  );
}
