import type { Feed } from '../../feeds/feed';
import type { Gathered, ProducerRecord } from '../../log/commit-log';
import type { FeedState } from '../../state/feed-state';
import type { PendingState } from '../../state/pending-state';
import type { SourceOffset } from '../../state/source-offset';
import type { ChangeEvents, DeadLetter, ScanPage } from '../../types';
import { type PublishedChanges, publishedChanges } from '../changes/published-changes';
import { type TransactionDeps, transactGathered } from './transact';

/** More bring nothing: by then the cost of a transaction is a small part of that of its pages. */
const MOST_PAGES = 5;
/** Of encoded values. Bounds what is held in memory, and for how long a transaction is open. */
const MOST_BYTES = 8 * 2 ** 20;

/**
 * Pages that are committed together, in one transaction, while a scan catches up. Each is diffed over what the pages before
 * it make of the state. Only as long as there is something to gain: `isDue` says when not to wait for another page.
 */
export interface Batch {
  /** The state as the pages so far make it, and a layer over it for the next one. Dropped unless that page is added. */
  begin(): PendingState;
  /** Takes a page in; `pending` is its layer. */
  add(page: ScanPage, news: PageNews, pending: PendingState): void;
  /** Nothing is gained by waiting for another page. */
  isDue(): boolean;
  /**
   * Begins to commit all pages or none, as soon as those before them are committed, and does not wait for its end: pages that are
   * added meanwhile are diffed over what these make of the state, and dropped with them when it fails.
   * @throws what the commit of the pages before has failed with; the batch is of no more use then
   */
  flush(): Promise<void>;
  /** All pages are committed. @throws as `flush`, of any of them */
  commit(): Promise<void>;
}

/** What will be published about a page. */
export interface PageNews {
  readonly events: readonly ChangeEvents[];
  readonly letters: readonly DeadLetter[];
  /** Of these, as the log takes them: one after the other. */
  readonly records: Iterable<ProducerRecord>;
}

/**
 * A page that waits to be committed: without its rows, its events and its records. They would be objects by the thousand that the
 * collector copies again and again; the records wait as the log writes them.
 */
export interface BatchPage extends Pick<PageNews, 'letters'>, Pick<ScanPage, 'progress' | 'observedAtMs'> {
  /** How many rows it had. */
  readonly rows: number;
  /** What its events come to. */
  readonly changes: PublishedChanges;
}

export interface BatchDeps extends TransactionDeps {
  readonly state: FeedState;
}

/** @param onCommitted called for each page once it is committed, in order */
export function openBatch(feed: Feed, deps: BatchDeps, onCommitted: (page: BatchPage) => void): Batch {
  const { state, session } = deps;
  /** What is being committed, over what is, and what gathers meanwhile, over both. */
  const committing = state.begin();
  const gathering = committing.begin();
  let pages: BatchPage[] = [];
  let records = session.gather();
  let marksBack = false;
  let underWay: Promise<void> = Promise.resolve();

  function startCommit(): void {
    const last = pages.at(-1);
    if (last === undefined) return;
    const [committed, gathered] = [pages, records];
    const news = newsOf(committed);
    pages = [];
    records = session.gather();
    marksBack = false;
    gathering.settle();
    underWay = commitPages(committed, gathered, news, last);
    // Whoever waits for it is told; until then it is no unhandled rejection.
    underWay.catch(() => undefined);
  }

  async function commitPages(
    committed: readonly BatchPage[],
    gathered: Gathered,
    news: number,
    last: BatchPage,
  ): Promise<void> {
    if (isWorthCommitting(news, last, state.storedOffset, committing.offset, feed.pollIntervalMs)) {
      await transactGathered(feed, deps, committing, gathered, last.observedAtMs);
    } else {
      committing.settle(); // nothing but the position moved
    }
    for (const page of committed) onCommitted(page);
  }

  return {
    begin: () => gathering.begin(),
    add({ rows, progress, observedAtMs }, { events, letters, records: encoded }, layer) {
      const { high_water_mark: before } = gathering.offset;
      // First: the state must not know of what was not taken over.
      records.add(encoded);
      layer.settle();
      // It says that an order was believed in which is not there: that must not be lost.
      marksBack ||= gathering.offset.high_water_mark < before;
      pages.push({
        changes: publishedChanges(feed, events),
        letters,
        rows: rows.length,
        progress,
        observedAtMs,
      });
    },
    isDue() {
      const last = pages.at(-1);
      return (
        last === undefined ||
        last.progress.complete ||
        pages.length >= MOST_PAGES ||
        records.valueBytes >= MOST_BYTES ||
        marksBack ||
        // Pages without news need no transaction: there is none to share.
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
export function rehearsedBatch(feed: Feed, state: FeedState, onPage: (page: BatchPage) => void): Batch {
  const imagined = state.begin();
  return {
    begin: () => imagined.begin(),
    add({ rows, progress, observedAtMs }, { events, letters }, layer) {
      layer.settle();
      onPage({ changes: publishedChanges(feed, events), letters, rows: rows.length, progress, observedAtMs });
    },
    isDue: () => true,
    flush: async () => undefined,
    commit: async () => undefined,
  };
}

function newsOf(pages: readonly BatchPage[]): number {
  return pages.reduce((sum, { changes, letters }) => sum + changes.count + letters.length, 0);
}

/**
 * Whether pages need a transaction. Without news they do not: reading them again costs nothing but the reading. Their
 * position is written now and then, so that a restart does not begin far back and `status` sees that scans complete; and at
 * once when the poll interval is another than the stored one, by which `status` says whether the feed is behind.
 * @param news events and dead letters of the pages
 * @param page the last of them
 * @param before what is stored
 * @param after what would be
 * @param everyMs the feed's poll interval
 */
function isWorthCommitting(
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
    before.poll_interval_ms !== everyMs ||
    // That one begins, and that it has reached its end; what lies between is written now and then.
    after.backfill?.asked_ms !== before.backfill?.asked_ms ||
    (page.progress.complete && page.observedAtMs - (completed ?? 0) >= everyMs) ||
    page.observedAtMs - before.ts_ms >= everyMs
  );
}
