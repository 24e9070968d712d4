import type { Feed } from '../feeds/feed';
import type { Logger } from '../logger';
import type { Source } from '../source/source';
import type { Paging, ScanPage } from '../types';
import { behindFirstPage } from './first-page';
import { afterSecond, type KeysetCursor, nextStep } from './keyset-cursor';
import { bringsNothingNew, type PageFacts } from './page-facts';
import { type FetchedPage, type PageReader, pageReader } from './page-reader';
import { MOST_WALKS, walkPages } from './page-walk';
import { withPageSize } from './paging';

/** Where a scan begins and what is known before it. Times are Unix seconds. */
export interface ScanStart {
  readonly highWaterMark: number;
  /** The first snapshot is not complete yet. */
  readonly snapshot: boolean;
  /** Reads from further back, and takes nothing but an empty page for the end. */
  readonly wide: boolean;
  readonly paging: Paging;
}

export interface ScanDeps {
  readonly source: Source;
  readonly logger: Logger;
}

/**
 * Walks the pages from the stored position to the end, by keyset on `updated`: when a page's last row is later than the
 * anchor, the next request starts there, so that the server's paging limit is never met. Rows at the seam come twice;
 * the diff makes that free. The rules and their reasons: `docs/scan.md`.
 *
 * @throws HighwaterError SOURCE_* when the server cannot be read, SCAN_* when its answers cannot be scanned completely
 */
export async function* scan(
  feed: Feed,
  start: ScanStart,
  deps: ScanDeps,
  signal: AbortSignal,
): AsyncGenerator<ScanPage> {
  // A smaller page size may have been a passing need: a wide poll tries the full one again.
  const paging =
    start.wide && start.paging.pageSize < feed.pageSize
      ? withPageSize(start.paging, feed.pageSize)
      : start.paging;
  const reader = pageReader(feed, deps.source, paging, signal);
  if (start.snapshot && start.highWaterMark === 0 && reader.paging().unit === null)
    await reader.learnPaging();
  const overlap = start.wide ? feed.wideOverlapSeconds : feed.overlapSeconds;
  const from = Math.max(0, start.highWaterMark - overlap);

  const position = {
    reader,
    duringSnapshot: start.snapshot,
    highWaterMark: start.highWaterMark,
    settled: true,
  };
  if (reader.paging().ordered) {
    const outOfOrder = yield* scanInOrder(feed, from, start, position, deps);
    if (outOfOrder === null) return;
    // The mark has moved as if the order were given. It goes back before anything else can fail.
    reader.setPaging({ ...reader.paging(), ordered: false });
    position.highWaterMark = start.highWaterMark;
    yield { ...scanPage(position, outOfOrder, false), rows: [] };
  }
  yield* scanWithoutOrder(feed, from, start, position, deps);
}

/** What a scan moves along: the mark that its pages carry. */
interface Position {
  readonly reader: PageReader;
  readonly duringSnapshot: boolean;
  highWaterMark: number;
  /** False once a walk had to be given up: the scan ends, but does not claim to be complete. */
  settled: boolean;
}

/** Returns null at the end, or the page at which the rows turned out not to come oldest first. */
async function* scanInOrder(
  feed: Feed,
  from: number,
  start: ScanStart,
  position: Position,
  deps: ScanDeps,
): AsyncGenerator<ScanPage, FetchedPage | null> {
  const { reader } = position;
  let cursor: KeysetCursor = {
    anchor: from,
    expectsRows: start.highWaterMark > 0 || start.snapshot,
    leaps: 0,
  };
  let pin: number | null = null;
  let previous: PageFacts | null = null;

  for (;;) {
    const known = reader.paging().longestPage;
    let page = await first(reader, cursor.anchor);
    // Where rows were, and wherever a snapshot would end, an empty answer is not believed at once.
    const isOdd = cursor.expectsRows || start.snapshot;
    if (page.facts.length === 0 && isOdd) page = await first(reader, cursor.anchor);
    const { facts } = page;
    if (facts.length === 0) {
      yield lastPage(position, page);
      return null;
    }
    // Only a wide poll goes on behind a short page. New rows there show that the server gives shorter pages than before.
    if (previous !== null && previous.length < (known ?? 0) && !bringsNothingNew(facts, previous)) {
      reader.setPaging({ ...reader.paging(), longestPage: Math.max(previous.length, facts.length) });
    }
    previous = facts;
    if (!facts.ascending || (facts.least !== null && facts.least < cursor.anchor)) return page;

    if (start.snapshot) {
      // A snapshot is pinned late: by the first page that comes close to the moment of its own answer.
      if (pin === null && (facts.last ?? 0) >= page.serverSecond - feed.overlapSeconds)
        pin = page.serverSecond;
    } else pin ??= page.serverSecond;
    const step = nextStep(cursor, facts, {
      fullPage: start.wide ? null : known,
      pin: pin ?? Number.POSITIVE_INFINITY,
      serverSecond: page.serverSecond,
    });
    // Rows beyond a leap say nothing about those leapt over, and a page of one second nothing about the order: there the
    // mark waits for what is behind the page.
    const mark = Math.min(facts.last ?? cursor.anchor, page.knownSecond);
    if (cursor.leaps === 0 && step.kind !== 'wide-second') position.highWaterMark = mark;
    yield scanPage(position, page, step.kind === 'end');
    if (step.kind === 'end') return null;
    if (step.kind === 'anchor') {
      cursor = step.cursor;
      continue;
    }

    const beyond = await behindFirstPage(feed, reader, cursor.anchor, facts);
    if (beyond === 'page-size-changed') continue;
    if (beyond === 'more') {
      const window = {
        from: cursor.anchor,
        second: step.second,
        pagingLimit: feed.pagingLimit,
        feed: feed.name,
      };
      const end = yield* walk(window, position, deps);
      if (end === 'not-in-order') return page;
      if (end === 'again') continue;
    }
    if (cursor.leaps === 0) position.highWaterMark = mark;
    if (beyond !== 'more') {
      yield lastPage(position, beyond);
      return null;
    }
    cursor = afterSecond(cursor, step.second);
  }
}

/** The filter is ignored or the order is not given: everything has to be read before the mark may move. */
async function* scanWithoutOrder(
  feed: Feed,
  from: number,
  start: ScanStart,
  position: Position,
  deps: ScanDeps,
): AsyncGenerator<ScanPage> {
  const { reader } = position;
  position.highWaterMark = start.highWaterMark;
  const window = { from, second: null, pagingLimit: feed.pagingLimit, feed: feed.name };
  for (;;) {
    let begin = await first(reader, from);
    if (begin.facts.length === 0) begin = await first(reader, from);
    reader.setPaging({ ...reader.paging(), ordered: isInOrder(begin.facts, from) });
    let greatest = begin.facts.greatest ?? start.highWaterMark;
    yield scanPage(position, begin, false);
    // One page that holds the whole window needs no order.
    const beyond = await behindFirstPage(feed, reader, from, begin.facts);
    if (beyond === 'page-size-changed') continue;
    if (beyond === 'more') {
      const end = yield* walk(window, position, deps, (page) => {
        greatest = Math.max(greatest, page.facts.greatest ?? 0);
      });
      if (end === 'again') continue;
    }
    // A row that moved while the pages were read may have been missed: it is no older than the first answer.
    position.highWaterMark = Math.min(greatest, begin.knownSecond);
    yield lastPage(position, begin);
    return;
  }
}

async function* walk(
  window: Parameters<typeof walkPages>[1],
  position: Position,
  deps: ScanDeps,
  look: (page: FetchedPage) => void = () => {},
): AsyncGenerator<ScanPage, 'done' | 'again' | 'not-in-order'> {
  const pages = walkPages(position.reader, window);
  for (;;) {
    const { done, value } = await pages.next();
    if (!done) {
      look(value);
      yield scanPage(position, value, false);
      continue;
    }
    if (value === 'not-settled') {
      position.settled = false;
      deps.logger.warn(
        `Feed ${window.feed}: ${MOST_WALKS} walks over the rows from ${window.from} still brought new ones. ` +
          'The scan goes on; what is missing is left to a later wide poll or reconcile.',
        { feed: window.feed },
      );
    }
    if (value === 'not-in-order') return value;
    return value === 'begin-again' ? 'again' : 'done';
  }
}

/** Enough rows that they are oldest first by more than chance: the server may be trusted again. */
function isInOrder(facts: PageFacts, from: number): boolean {
  const { least, greatest, ascending, length } = facts;
  if (least === null || greatest === null) return false;
  return ascending && least >= from && least < greatest && length >= LEAST_ROWS_IN_ORDER;
}

const LEAST_ROWS_IN_ORDER = 20;

async function first(reader: PageReader, from: number): Promise<FetchedPage> {
  for (;;) {
    const page = await reader.read(from, 0);
    if (page !== 'page-size-changed') return page;
  }
}

function scanPage(position: Position, page: FetchedPage, complete: boolean): ScanPage {
  return {
    rows: page.rows,
    observedAtMs: page.observedAtMs,
    progress: {
      highWaterMark: position.highWaterMark,
      duringSnapshot: position.duringSnapshot,
      complete,
      settled: position.settled,
      paging: position.reader.learned(),
    },
    reread: page.reread,
  };
}

/** The end was found by a page without rows of its own. */
function lastPage(position: Position, page: FetchedPage): ScanPage {
  const known = Math.min(position.highWaterMark, page.knownSecond);
  return { ...scanPage({ ...position, highWaterMark: known }, page, true), rows: [], reread: async () => [] };
}
