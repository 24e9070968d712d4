import type { Feed } from '../feeds/feed';
import type { Logger } from '../logger';
import type { Source } from '../source/source';
import type { Paging, ScanPage } from '../types';
import { behindFirstPage } from './first-page';
import { type KeysetCursor, nextStep } from './keyset-cursor';
import { bringsNothingNew, type PageFacts } from './page-facts';
import { type FetchedPage, pageReader } from './page-reader';
import { withPageSize } from './paging';
import { followClocks } from './present';
import { firstPage, lastPage, rewound, type ScanPosition, scanPage, walk } from './scan-pages';
import { scanWithoutOrder } from './scan-without-order';

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
  yield* scanWithoutOrder(feed, restart.from, start, position, deps.logger);
}

/** Returns null at the end, or the page at which the rows turned out not to come oldest first. */
async function* scanInOrder(
  feed: Feed,
  from: number,
  start: ScanStart,
  position: ScanPosition,
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
    let page = await firstPage(reader, cursor.anchor);
    // Where rows were, and wherever a snapshot would end, an empty answer is not believed at once.
    const isOdd = cursor.expectsRows || start.snapshot;
    if (page.facts.length === 0 && isOdd) page = await firstPage(reader, cursor.anchor);
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
      const walked = yield* walk(window, position, deps.logger);
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
