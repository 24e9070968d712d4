import type { Feed } from '../feeds/feed';
import type { Logger } from '../logger';
import type { Source } from '../source/source';
import type { Paging, ScanPage } from '../types';
import { behindFirstPage } from './first-page';
import { type KeysetCursor, nextStep } from './keyset-cursor';
import { bringsNothingNew, type PageFacts } from './page-facts';
import { type FetchedPage, type PageReader, pageReader } from './page-reader';
import { MOST_WALKS, type Walked, type Window, walkPages } from './page-walk';
import { withPageSize } from './paging';
import { followClocks } from './present';

/** Where a scan begins and what is known before it. Times are Unix seconds. */
export interface ScanStart {
  readonly highWaterMark: number;
  /** The first snapshot is not complete yet. */
  readonly snapshot: boolean;
  /** Reads from further back, and takes nothing but an empty page for the end. */
  readonly wide: boolean;
  /** How far before the mark it begins, where not as the feed says. */
  readonly overlapSeconds?: number;
  readonly paging: Paging;
  /** Everything is read, not for a first snapshot: what pages are counted in is looked at, where it is not known. */
  readonly whole?: boolean;
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
  // Only the whole feed shows it: its seconds differ.
  const isWhole = start.whole === true || (start.snapshot && start.highWaterMark === 0);
  if (isWhole && reader.paging().unit === null) await reader.learnPaging();
  const overlap = start.overlapSeconds ?? (start.wide ? feed.wideOverlapSeconds : feed.overlapSeconds);
  const from = Math.max(0, start.highWaterMark - overlap);

  const position = {
    reader,
    duringSnapshot: start.snapshot,
    highWaterMark: start.highWaterMark,
    settled: true,
  };
  // Marks that were set while an order was believed in prove nothing: without it, a snapshot begins again.
  const restart = start.snapshot
    ? { from: 0, highWaterMark: 0 }
    : { from, highWaterMark: start.highWaterMark };
  if (reader.paging().ordered) {
    const outOfOrder = yield* scanInOrder(feed, from, start, position, deps);
    if (outOfOrder === null) return;
    reader.setPaging({ ...reader.paging(), ordered: false });
    position.highWaterMark = restart.highWaterMark;
    // They go back before anything else can fail.
    yield { ...scanPage(position, outOfOrder, false), rows: [] };
  }
  position.highWaterMark = restart.highWaterMark;
  yield* scanWithoutOrder(feed, restart.from, start, position, deps);
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
  const presentAt = followClocks(start.snapshot, feed.overlapSeconds);
  /** The scan has begun anew, before the present. */
  let isRewound = false;
  let previous: PageFacts | null = null;
  /** When the first page was answered that reaches into the seconds in which rows may still become visible. */
  let nearSince = Number.POSITIVE_INFINITY;

  for (;;) {
    const before = reader.paging();
    let page = await first(reader, cursor.anchor);
    // Where rows were, and wherever a snapshot would end, an empty answer is not believed at once.
    const isOdd = cursor.expectsRows || start.snapshot;
    if (page.facts.length === 0 && isOdd) page = await first(reader, cursor.anchor);
    if (previous === null && !isRewound && page.knownSecond < from) {
      isRewound = true;
      cursor = { ...cursor, anchor: rewound(feed, page) };
      continue;
    }
    const { facts } = page;
    // With fewer records asked for (a body was too large), nothing is known of the pages' length.
    const known = reader.paging().pageSize === before.pageSize ? before.longestPage : null;
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

    const step = nextStep(cursor, facts, { fullPage: start.wide ? null : known, ...presentAt(page) });
    // Rows beyond a leap say nothing about those leapt over, and a page of one second nothing about the order: there the
    // mark waits for what is behind the page.
    if ((facts.last ?? 0) >= page.knownSecond - feed.overlapSeconds)
      nearSince = Math.min(nearSince, page.knownSecond);
    const mark = Math.min(facts.last ?? cursor.anchor, page.knownSecond, nearSince);
    if (cursor.leaps === 0 && step.kind !== 'wide-second') position.highWaterMark = mark;
    yield scanPage(position, page, step.kind === 'end');
    if (step.kind === 'end') return null;
    if (step.kind === 'anchor') {
      cursor = step.cursor;
      continue;
    }

    const beyond = await behindFirstPage(feed, reader, cursor.anchor, facts);
    if (beyond === 'page-size-changed') continue;
    if (!reader.paging().ordered) return page;
    let next: number | null = null;
    if (beyond === 'more') {
      const window = {
        from: cursor.anchor,
        second: step.second,
        pagingLimit: feed.pagingLimit,
        feed: feed.name,
      };
      const walked = yield* walk(window, position, deps);
      if (walked.end === 'not-in-order') return page;
      if (walked.end === 'begin-again') continue;
      next = walked.next;
    }
    if (cursor.leaps === 0) position.highWaterMark = mark;
    if (next === null) {
      yield lastPage(position, beyond === 'more' ? page : beyond);
      return null;
    }
    // Not the second that follows: where rows have no time stamp, each of them would show the same rows again.
    cursor = { ...cursor, anchor: next, expectsRows: true };
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
  const window = { from, second: null, pagingLimit: feed.pagingLimit, feed: feed.name };
  for (;;) {
    let begin = await first(reader, from);
    if (begin.knownSecond < from)
      return yield* scanWithoutOrder(feed, rewound(feed, begin), start, position, deps);
    if (begin.facts.length === 0) begin = await first(reader, from);
    let ordered = isInOrder(begin.facts, from);
    let greatest = begin.facts.greatest ?? start.highWaterMark;
    yield scanPage(position, begin, false);
    // One page that holds the whole window needs no order.
    const beyond = await behindFirstPage(feed, reader, from, begin.facts);
    if (beyond === 'page-size-changed') continue;
    if (beyond === 'more') {
      const { end } = yield* walk(window, position, deps, (page) => {
        ordered &&= page.facts.ascending;
        greatest = Math.max(greatest, page.facts.greatest ?? 0);
      });
      if (end === 'begin-again') continue;
    }
    // A row that moved while the pages were read may have been missed: it is no older than the first answer.
    position.highWaterMark = Math.min(greatest, begin.knownSecond);
    reader.setPaging({ ...reader.paging(), ordered });
    yield lastPage(position, begin);
    return;
  }
}

async function* walk(
  window: Window,
  position: Position,
  deps: ScanDeps,
  look: (page: FetchedPage) => void = () => {},
): AsyncGenerator<ScanPage, Walked> {
  const pages = walkPages(position.reader, window);
  for (;;) {
    const { done, value } = await pages.next();
    if (!done) {
      look(value);
      yield scanPage(position, value, false);
      continue;
    }
    if (value.end === 'not-settled') {
      position.settled = false;
      deps.logger.warn(
        `Feed ${window.feed}: ${MOST_WALKS} walks over the rows from ${window.from} still brought new ones. ` +
          'The scan goes on; what is missing is left to a later wide poll or reconcile.',
        { feed: window.feed },
      );
      // What pages are counted in may have been learned while rows moved: one record too many on each page looks like that.
      await position.reader.learnPaging();
    }
    return value;
  }
}

/**
 * Where to read from when the mark lies ahead of the present: it was set while no clock was right, nobody knows since when, and
 * what was written meanwhile lies behind it. As far back as a wide poll.
 */
function rewound(feed: Feed, page: FetchedPage): number {
  return Math.max(0, page.knownSecond - feed.wideOverlapSeconds);
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
