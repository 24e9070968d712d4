import type { FeedCodec } from '../avro/feed-codec';
import type { Feed } from '../feeds/feed';
import type { FeedSession, FeedTopics, Gathered, ProducerRecord } from '../log/commit-log';
import type { FeedState } from '../state/feed-state';
import type { PendingState } from '../state/pending-state';
import type { ChangeEvents, DeadLetter, ScanPage } from '../types';
import { commit, isWorthCommitting } from './commit';
import { endTransaction } from './encode';
import { type PublishedChanges, publishedChanges } from './published-changes';

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

export interface BatchDeps {
  readonly state: FeedState;
  readonly session: FeedSession;
  readonly topics: FeedTopics;
  readonly codec: FeedCodec;
  readonly instance: string;
}

/** @param onCommitted called for each page once it is committed, in order */
export function openBatch(feed: Feed, deps: BatchDeps, onCommitted: (page: BatchPage) => void): Batch {
  const { state, session, topics, codec, instance: owner } = deps;
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
      const { observedAtMs } = last;
      const { ownerEpoch } = session;
      const context = { feed, topics, codec, owner, ownerEpoch, observedAtMs };
      await commit(endTransaction(gathered, committing, context), committing, session);
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
      const changes = publishedChanges(feed, events);
      pages.push({ changes, letters, rows: rows.length, progress, observedAtMs });
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

function newsOf(pages: readonly BatchPage[]): number {
  return pages.reduce((sum, { changes, letters }) => sum + changes.count + letters.length, 0);
}
