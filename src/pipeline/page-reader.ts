import { HighwaterError } from '../errors';
import type { Feed } from '../feeds/feed';
import type { Source, SourcePage } from '../source/source';
import type { Paging } from '../types';
import { type PageFacts, pageFacts } from './page-facts';
import { inferPaging, pageOffset, showOrder, withPageSize } from './paging';

/** One answer of the server, and how to ask for it again. */
export interface FetchedPage {
  readonly rows: readonly unknown[];
  readonly facts: PageFacts;
  /** The server's clock when it answered; the own clock where the answer has no date. Unix seconds. */
  readonly serverSecond: number;
  readonly ownSecond: number;
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
  /** Looks at the first pages of the whole feed for what the paging parameter counts, and for their order. */
  learnPaging(): Promise<void>;
}

const LEARNING_TRIES = 3;
/** A smaller cap may be a row that came between two requests: it holds for one scan only. */
const LEAST_LASTING_CAP = 20;

export function pageReader(feed: Feed, source: Source, learned: Paging, signal: AbortSignal): PageReader {
  let paging = learned;

  async function fetch(from: number, offset: number): Promise<FetchedPage> {
    const request = { updatedSince: from, pageOffset: offset, pageSize: paging.pageSize };
    const page = await source.fetchPage(feed, request, signal);
    return fetched(page, async () => (await source.fetchPage(feed, request, signal)).rows);
  }

  /** Null when the body was too large: from now on fewer records are asked for. */
  async function fetchOrShrink(from: number, offset: number): Promise<FetchedPage | null> {
    try {
      return await fetch(from, offset);
    } catch (error) {
      const tooLarge = error instanceof HighwaterError && error.code === 'SOURCE_BODY_TOO_LARGE';
      if (!tooLarge || paging.pageSize === 1) throw error;
      paging = withPageSize(paging, Math.floor(paging.pageSize / 2));
      return null;
    }
  }

  async function read(from: number, n: number): Promise<FetchedPage | 'page-size-changed'> {
    for (;;) {
      const page = await fetchOrShrink(from, pageOffset(paging, n));
      if (page !== null) {
        paging = { ...paging, longestPage: Math.max(paging.longestPage ?? 0, page.facts.length) };
        return page;
      }
      if (n > 0) return 'page-size-changed';
    }
  }

  /** The first pages of the whole feed; the paging values are meant literally. */
  async function probe(): Promise<readonly PageFacts[] | null> {
    const pages: PageFacts[] = [];
    for (const offset of [0, 1, 2]) {
      const page = await fetchOrShrink(0, offset);
      if (page === null) return null;
      pages.push(page.facts);
    }
    return pages;
  }

  async function learn(): Promise<void> {
    for (let attempt = 0; attempt < LEARNING_TRIES; ) {
      const pages = await probe();
      if (pages === null) continue;
      attempt++;
      const [zero, one, two] = pages as [PageFacts, PageFacts, PageFacts];
      if (zero.length === 0) return;
      if (!showOrder(pages)) paging = { ...paging, ordered: false };
      const inferred = inferPaging(zero, one, two);
      if (inferred === null) continue;
      paging = { ...paging, ...inferred };
      return;
    }
  }

  return {
    paging: () => paging,
    read,
    setPaging(next) {
      paging = next;
    },
    learned() {
      const isLasting = paging.unit !== null && paging.pageSize >= LEAST_LASTING_CAP;
      return isLasting || paging.pageSize >= feed.pageSize ? paging : withPageSize(paging, feed.pageSize);
    },
    async learnPaging() {
      // A cap that was met at one short second holds too few rows to tell anything by.
      const { pageSize, longestPage } = paging;
      paging = withPageSize(paging, feed.pageSize);
      await learn();
      // Where even less than before was what fits, that stays.
      if (paging.pageSize >= pageSize) paging = { ...paging, pageSize, longestPage };
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
    ownSecond,
    knownSecond: Math.min(serverSecond, ownSecond),
    observedAtMs: page.receivedAtMs,
    reread,
  };
}
