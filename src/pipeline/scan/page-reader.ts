import { type ErrorCode, HighwaterError } from '../../errors';
import type { Feed } from '../../feeds/feed';
import { rowKeys } from '../../feeds/row-keys';
import type { PageRequest, Source } from '../../source/source';
import type { Paging } from '../../types';
import { continuedPages } from './continued-pages';
import type { PageFacts } from './page-facts';
import { type FetchedPage, fetchedPage } from './page-facts';
import {
  declaredPaging,
  inferPaging,
  type PagingKind,
  pageOffset,
  pagingKind,
  showOrder,
  withPageSize,
} from './paging';

/** Reads the pages of one scan and keeps what it learns of the server's paging on the way. */
export interface PageReader {
  readonly kind: PagingKind;
  paging(): Paging;
  /**
   * Page n (from 0) of the rows with `updated >= from`. If its body is too large, fewer records are asked for from then on. That
   * moves every position, so the caller has to begin again.
   *
   * @param before rows that came on the pages before it
   */
  read(from: number, n: number, before: number): Promise<FetchedPage | 'page-size-changed'>;
  readFirst(from: number): Promise<FetchedPage>;
  /**
   * Positions are counted in pages of the requested size, so every walk begins again with another size. A size that was too large is
   * not set again: pages only get smaller, so the new beginnings end.
   */
  setPaging(paging: Paging): void;
  /** The paging to keep for later scans. */
  learned(): Paging;
  /** Learns from the first pages of the whole feed what the paging parameter counts, and whether they are in order. */
  learnPaging(): Promise<void>;
}

const LEARNING_TRIES = 3;
/** A smaller cap may be a row that came between two requests: it holds for one scan only. */
const LEAST_LASTING_CAP = 20;

export function pageReader(feed: Feed, source: Source, learned: Paging, signal: AbortSignal): PageReader {
  const keys = rowKeys(feed);
  const kind = pagingKind(feed);
  let paging = declaredPaging(feed, learned);
  /** Whether it has to be learned what the paging parameter counts. */
  const isLearned = feed.paging.style === 'page';
  const mayShrink = feed.parameters.pageSize !== null && kind !== 'single';
  /** Above it, a body was too large. */
  let mostRows = Number.POSITIVE_INFINITY;

  function setPaging(next: Paging): void {
    const declared = declaredPaging(feed, next);
    paging = declared.pageSize > mostRows ? withPageSize(declared, mostRows) : declared;
  }

  async function fetch(request: PageRequest): Promise<FetchedPage> {
    const ask = () =>
      source.fetchPage(feed, request, signal).catch((error) => throwAnswer(error, feed, request));
    return fetchedPage(await ask(), keys, async () => (await ask()).rows);
  }

  /** Null when the body was too large: from now on fewer records are asked for. */
  async function fetchOrShrink(request: PageRequest): Promise<FetchedPage | null> {
    try {
      return await fetch(request);
    } catch (error) {
      const tooLarge = error instanceof HighwaterError && error.code === 'SOURCE_BODY_TOO_LARGE';
      if (!tooLarge || !mayShrink || paging.pageSize === 1) throw error;
      mostRows = Math.floor(paging.pageSize / 2);
      setPaging(paging);
      return null;
    }
  }

  function fetchNumbered(from: number, offset: number): Promise<FetchedPage | null> {
    return fetchOrShrink({ updatedSince: from, pageOffset: offset, pageSize: paging.pageSize });
  }

  const continued = continuedPages(feed.name, (from, continuation) => {
    const first = { updatedSince: from, pageOffset: 0, pageSize: paging.pageSize };
    return fetchOrShrink(continuation === undefined ? first : { ...first, continuation });
  });

  function pageAt(from: number, n: number, before: number): Promise<FetchedPage | null> {
    return kind === 'numbered' ? fetchNumbered(from, pageOffset(paging, n, before)) : continued.read(from, n);
  }

  async function read(from: number, n: number, before: number): Promise<FetchedPage | 'page-size-changed'> {
    const page = await pageAt(from, n, before);
    if (page === null) return 'page-size-changed';
    paging = { ...paging, longestPage: Math.max(paging.longestPage ?? 0, page.facts.length) };
    return page;
  }

  async function readFirst(from: number): Promise<FetchedPage> {
    for (;;) {
      const page = await read(from, 0, 0);
      if (page !== 'page-size-changed') return page;
    }
  }

  /** The first pages of the whole feed. If the paging is to be learned, the values 0, 1 and 2 are sent literally. */
  async function probe(): Promise<readonly PageFacts[] | null> {
    const pages: PageFacts[] = [];
    let before = 0;
    for (const n of [0, 1, 2]) {
      const page = await (isLearned ? fetchNumbered(0, n) : pageAt(0, n, before));
      if (page === null) return null;
      pages.push(page.facts);
      before += page.facts.length;
    }
    return pages;
  }

  async function learn(): Promise<void> {
    let isDoubted = false;
    for (let attempt = 0; attempt < LEARNING_TRIES; ) {
      const pages = await probe();
      if (pages === null) continue;
      attempt++;
      const [zero, one, two] = pages as [PageFacts, PageFacts, PageFacts];
      if (zero.length === 0) return;
      const inferred = isLearned ? inferPaging(zero, one, two) : {};
      setPaging({ ...paging, ...inferred });
      // One answer in another order is not believed.
      const isInOrder = showOrder(pages);
      if (!isInOrder && isDoubted) setPaging({ ...paging, ordered: false });
      else if (!isInOrder) {
        isDoubted = true;
        continue;
      }
      if (inferred !== null) return;
    }
  }

  return {
    kind,
    paging: () => paging,
    read,
    readFirst,
    setPaging,
    learned() {
      const isLasting = paging.unit !== null && paging.pageSize >= LEAST_LASTING_CAP;
      return isLasting || paging.pageSize >= feed.pageSize ? paging : withPageSize(paging, feed.pageSize);
    },
    async learnPaging() {
      if (!isLearned && (kind === 'single' || !paging.ordered)) return;
      // A cap that was met at one short second holds too few rows to tell anything by.
      const { pageSize, longestPage } = paging;
      setPaging(withPageSize(paging, feed.pageSize));
      await learn();
      // If even fewer records than before fit, that size stays.
      if (paging.pageSize >= pageSize) paging = { ...paging, pageSize, longestPage };
    },
  };
}

/** If a place that an earlier answer named is refused, the place is at fault, not the endpoint. */
function throwAnswer(error: unknown, feed: Feed, { updatedSince, continuation }: PageRequest): never {
  const isRefused = error instanceof HighwaterError && REFUSALS.includes(error.code);
  if (continuation === undefined || !isRefused) throw error;
  throw new HighwaterError(
    'SCAN_CURSOR_EXPIRED',
    `The place at which the rows of feed ${feed.name} from ${updatedSince} on go on is not accepted by the API: ${error.message}`,
    { cause: error },
  );
}

const REFUSALS: readonly ErrorCode[] = ['SOURCE_NOT_FOUND', 'SOURCE_REQUEST_REFUSED'];
