import { HighwaterError } from '../errors';
import type { Feed } from '../feeds/feed';
import type { Source, SourcePage } from '../source/source';
import { type PageFacts, pageFacts } from './page-facts';
import { inferPaging, type Paging, pageOffset, withPageSize } from './paging';

/** One answer of the server, and how to ask for it again. */
export interface FetchedPage {
  readonly rows: readonly unknown[];
  readonly facts: PageFacts;
  /** The server's clock when it answered; the own clock where the answer has no date. Unix seconds. */
  readonly serverSecond: number;
  /** Least of the server's and the own clock, Unix seconds: the high-water mark never passes it. */
  readonly knownSecond: number;
  readonly observedAtMs: number;
  reread(): Promise<readonly unknown[]>;
}

/** Reads the pages of one scan and keeps what it learns of the server's paging on the way. */
export interface PageReader {
  paging(): Paging;
  /**
   * Page n (from 0) of the rows with `updated >= from`. A page that is too large is asked for again with fewer records;
   * within a walk that moves every position, so the caller has to begin the walk again.
   */
  read(from: number, n: number): Promise<FetchedPage | 'page-size-changed'>;
  /** Positions are counted in pages of the size asked for, so another size begins every walk again. */
  setPaging(paging: Paging): void;
  /** What is worth keeping for later scans. */
  learned(): Paging;
  /** Looks at the first pages of the whole feed for what the paging parameter counts. */
  learnPaging(): Promise<void>;
}

const LEARNING_TRIES = 3;
/** A smaller cap may be a row that came between two requests: it holds for one scan only. */
const LEAST_LASTING_CAP = 10;

export function pageReader(feed: Feed, source: Source, learned: Paging, signal: AbortSignal): PageReader {
  let paging = learned;

  async function fetch(from: number, offset: number): Promise<FetchedPage> {
    const request = { updatedSince: from, pageOffset: offset, pageSize: paging.pageSize };
    const page = await source.fetchPage(feed, request, signal);
    return fetched(page, async () => (await source.fetchPage(feed, request, signal)).rows);
  }

  async function read(from: number, n: number): Promise<FetchedPage | 'page-size-changed'> {
    for (;;) {
      try {
        const page = await fetch(from, pageOffset(paging, n));
        paging = { ...paging, longestPage: Math.max(paging.longestPage ?? 0, page.facts.length) };
        return page;
      } catch (error) {
        if (
          !(error instanceof HighwaterError) ||
          error.code !== 'SOURCE_BODY_TOO_LARGE' ||
          paging.pageSize === 1
        )
          throw error;
        paging = withPageSize(paging, Math.floor(paging.pageSize / 2));
        if (n > 0) return 'page-size-changed';
      }
    }
  }

  return {
    paging: () => paging,
    read,
    setPaging(next) {
      paging = next;
    },
    learned: () =>
      paging.pageSize < Math.min(LEAST_LASTING_CAP, feed.pageSize)
        ? withPageSize(paging, feed.pageSize)
        : paging,
    async learnPaging() {
      for (let attempt = 0; attempt < LEARNING_TRIES; attempt++) {
        // The paging values are meant literally here: 0, 1 and 2 of the whole feed.
        const zero = await fetch(0, 0);
        if (zero.facts.length === 0) return;
        const one = await fetch(0, 1);
        const two = await fetch(0, 2);
        const inferred = inferPaging(zero.facts, one.facts, two.facts);
        if (inferred === null) continue;
        paging = { ...paging, ...inferred };
        return;
      }
    },
  };
}

function fetched(page: SourcePage, reread: FetchedPage['reread']): FetchedPage {
  const ownSecond = Math.floor(page.receivedAtMs / 1000);
  const serverSecond = page.serverDateMs === null ? ownSecond : Math.floor(page.serverDateMs / 1000);
  return {
    rows: page.rows,
    facts: pageFacts(page.rows),
    serverSecond,
    knownSecond: Math.min(serverSecond, ownSecond),
    observedAtMs: page.receivedAtMs,
    reread,
  };
}
