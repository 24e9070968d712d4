import type { Gathered } from '../../log/commit-log';
import type { FeedState } from '../../state/feed-state';
import type { PendingState } from '../../state/pending-state';
import type { SourceOffset } from '../../state/source-offset';
import type { ScanPage } from '../../types';
import type { PageNews } from '../changes/page-changes';
import type { Encoder } from './encode';
import { type TransactionDeps, transactGathered } from './transact';

/** More pages gain nothing: by then the cost of a transaction is a small part of the cost of its pages. */
const MOST_PAGES = 5;
/** Of encoded values. Bounds what is held in memory, and for how long a transaction is open. */
const MOST_BYTES = 8 * 2 ** 20;

/**
 * Pages that are committed together, in one transaction, while a scan catches up. Each page is compared with the state that the pages
 * before it leave. A page waits only as long as there is something to gain: see `isDue`.
 */
export interface Batch {
  /** A layer for the next page, over the state that the pages so far leave. Dropped unless that page is added. */
  begin(): PendingState;
  /** Takes a page in; `pending` is its layer. */
  add(page: ScanPage, news: PageNews, pending: PendingState): void;
  /** Nothing is gained by waiting for another page. */
  isDue(): boolean;
  /**
   * Begins to commit all pages or none, as soon as the pages before them are committed, and does not wait for the end: pages that are
   * added meanwhile are compared with the state that these leave, and dropped with them when the commit fails.
   * @throws the error of the commit before; the batch cannot be used after it
   */
  flush(): Promise<void>;
  /** Waits until all pages are committed. @throws as `flush`, the error of any commit */
  commit(): Promise<void>;
}

/**
 * A page that waits to be committed: without its rows, its events and its records, which would be thousands of objects that the
 * collector copies again and again. The records wait in the form in which the log writes them.
 */
export interface BatchPage
  extends Pick<PageNews, 'changes' | 'letters'>,
    Pick<ScanPage, 'progress' | 'observedAtMs'> {
  /** How many rows it had. */
  readonly rows: number;
}

export interface BatchDeps extends TransactionDeps {
  readonly state: FeedState;
  readonly encoder: Pick<Encoder, 'encode'>;
}

/** @param onCommitted called for each page once it is committed, in order */
export function openBatch(deps: BatchDeps, onCommitted: (page: BatchPage) => void): Batch {
  const { feed, state, session, encoder } = deps;
  /** The pages under commit, over the committed state, and the pages that gather meanwhile, over both. */
  const committing = state.begin();
  const gathering = committing.begin();
  let pages: BatchPage[] = [];
  let records = session.gather();
  let marksBack = false;
  let underWay: Promise<void> = Promise.resolve();

  function startCommit(): void {
    if (pages.length === 0) return;
    underWay = commitPages(pages, records);
    // A caller that waits for it gets the error; until then it is not an unhandled rejection.
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
      committing.settle(); // nothing but the position moved
    }
    for (const page of committed) onCommitted(page);
  }

  return {
    begin: () => gathering.begin(),
    add(page, news, layer) {
      const { high_water_mark: before } = gathering.offset;
      // First: if it fails, the state must not have the page.
      records.add(encoder.encode(news.events, news.letters, page.observedAtMs));
      layer.settle();
      // The scan believed in an order that does not exist: that must not be lost.
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
 * Whether pages without news need a transaction. Usually they do not: reading them again costs nothing but the reading. Their
 * position is written now and then, so that a restart does not begin far back and `status` sees that scans complete. It is written at
 * once when the poll interval has changed, by which `status` says whether the feed is behind.
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
