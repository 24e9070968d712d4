import type { Feed } from '../../feeds/feed';
import type { ScanPage } from '../../types';
import { allPages } from './all-pages';
import { jointOf, type KeysetCursor, leapOver, nextStep } from './keyset-cursor';
import { believed, isOutOfOrder, showsOlder } from './order';
import { testDeclared } from './pages/declared-paging';
import { isShortPageLast, mayBeCut } from './pages/first-page';
import { bringsNothingNew, type FetchedPage, type PageFacts, pageBehind } from './pages/page-facts';
import { PageReader } from './pages/page-reader';
import { MOST_RESTARTS } from './pages/page-walk';
import { pagingReach, withPageSize } from './pages/paging';
import { isCode, REFUSALS } from './pages/refusals';
import { isBehindReach } from './pages/window';
import { WindowReader } from './pages/window-reader';
import { Clocks } from './present';
import { type ScanDeps, ScanPosition, type ScanStart } from './scan-position';
import { scanWithoutOrder } from './scan-without-order';
import { isFilterOfNoUse, join, LagTest, LONGEST_LAG, missingOf, type Seam, seamAt } from './seam';

/**
 * Walks the pages from the stored position to the end, by keyset on `updated`: if a page's last row is later than the anchor, the
 * next request starts at that row. So the server's paging limit is rarely met. Rows at the seam come twice; the diff makes that
 * free. The rules and their reasons: `docs/scan.md`.
 *
 * @throws HighwaterError SOURCE_* when the server cannot be read, SCAN_* when its answers cannot be scanned completely
 */
export async function* scan(
  feed: Feed,
  start: ScanStart,
  deps: ScanDeps,
  signal: AbortSignal,
): AsyncGenerator<ScanPage> {
  // A smaller page size may have been needed only for a while, so a wide poll tries the full size again.
  const isSmall = start.wide && start.paging.pageSize < feed.pageSize;
  const paging = isSmall ? withPageSize(start.paging, feed.pageSize) : start.paging;
  const reader = new PageReader(feed, deps.source, paging, signal, start.shownRecords);
  // Only the whole feed has rows of enough seconds to learn its paging. A reconcile believes nothing that was learned before.
  const isWhole = start.whole === true || (start.snapshot && start.highWaterMark === 0);
  const isUnknown = reader.paging().unit === null || feed.paging.style !== 'page';
  reader.endTest.begin(start);
  if (start.whole === true || (isWhole && isUnknown)) await reader.learnPaging();
  // A row that becomes visible late may have a time that was rounded down to the step before.
  const late = feed.overlapSeconds + (start.stepSeconds ?? 1) - 1;
  const overlap = start.overlapSeconds ?? Math.max(start.wide ? feed.wideOverlapSeconds : 0, late);
  const from = Math.max(0, start.highWaterMark - overlap);
  const showsAll = isWhole || (start.wide && feed.parameters.updatedSince === null);
  if (showsAll) await testDeclared(feed, reader);
  if (showsAll || start.otherBorders) await reader.testBegin(from);
  // A mark may lie ahead of the present. A second that the caller names is kept.
  const mayRewind = start.overlapSeconds === undefined;

  const position = new ScanPosition(feed, reader, deps.logger, start, from);
  // Marks that relied on a wrong order prove nothing, so a snapshot begins again.
  const { highWaterMark, otherBorders, snapshot, wide, withoutFilter } = start;
  const restart = snapshot ? { from: 0, highWaterMark: 0 } : { from, highWaterMark };
  // The whole feed at once may be more than paging reaches.
  const isRange = !start.snapshot && start.whole !== true;
  async function* readInOrder(begin: number, mayReadAtOnce: boolean): AsyncGenerator<ScanPage, boolean> {
    const inOrder = new OrderedScan(position, begin, { ...start, mayRewind, mayReadAtOnce });
    const outOfOrder = yield* inOrder.pages();
    if (outOfOrder === null) return true;
    reader.setPaging({ ...reader.paging(), ordered: false });
    position.highWaterMark = restart.highWaterMark;
    position.shownBelow = 0;
    // The marks go back before anything else can fail.
    yield { ...position.page(outOfOrder), rows: [] };
    return false;
  }

  if (reader.paging().ordered && withoutFilter) yield* allPages(position, start.otherBorders === true);
  if (reader.paging().ordered && (yield* readInOrder(from, isRange))) {
    if (position.blockedBy !== null) throw position.blockedBy;
    return;
  }
  position.highWaterMark = restart.highWaterMark;
  const all = withoutFilter ? { ...restart, from: 0 } : restart;
  const walk = { ...all, otherBorders, isWide: wide || snapshot, mayRewind };
  const beyondReach = yield* scanWithoutOrder(position, walk);
  if (beyondReach === null) return;
  reader.setPaging({ ...reader.paging(), ordered: true });
  if (!(yield* readInOrder(all.from, false))) throw beyondReach;
}

/** How the reading of one second that is wider than a page went. */
type WideSecond = 'read' | 'read-again' | 'out-of-order' | 'end';

/** A scan that relies on rows coming oldest first. */
class OrderedScan {
  private readonly clocks: Clocks;
  private readonly lagTest: LagTest;
  private cursor: KeysetCursor;
  /** The scan may begin again, before the present, once. */
  private mayRewind: boolean;
  private previous: FetchedPage | null = null;
  /** Time of the answer to the first page that reaches into the seconds in which rows may still become visible. */
  private nearSince = Number.POSITIVE_INFINITY;
  /** How often reading from this anchor has begun again, and how often because a row was older than those before it. */
  private restarts = 0;
  private disorders = 0;
  /** Rows that the next page has to show again; null: nothing is known of the anchor. */
  private seam: Seam | null = null;
  private furthest = 0;
  private pin = Number.POSITIVE_INFINITY; // the end that the scan wants to reach
  /** It was looked why a page has shown a part of the seam. */
  private hasTestedPart = false;
  /** How often a page has not shown the seam, since the scan has last come further. */
  private rejoins = 0;
  private blocks = 0; // seconds that could not be read

  constructor(
    private readonly position: ScanPosition,
    private readonly from: number,
    private readonly start: ScanStart & { readonly mayRewind: boolean; readonly mayReadAtOnce: boolean },
  ) {
    const expectsRows = start.highWaterMark > 0 || start.snapshot;
    this.cursor = { anchor: from, expectsRows, leaps: 0 };
    this.clocks = new Clocks(start.snapshot, position.feed.overlapSeconds);
    this.mayRewind = start.mayRewind;
    this.lagTest = new LagTest(position, start.snapshot, start.mayReadAtOnce);
  }

  /** @returns null at the end, or the page at which the rows turned out not to come oldest first */
  async *pages(): AsyncGenerator<ScanPage, FetchedPage | null> {
    const { position, start } = this;
    const { feed, reader } = position;
    for (;;) {
      const before = reader.paging();
      // If rows were there before, and at any end of a snapshot, one empty answer is not enough.
      const first = await believed(
        reader,
        this.cursor.anchor,
        this.cursor.expectsRows || start.snapshot,
      ).catch((error) => this.refusedAhead(error));
      if (this.rewinds(first)) continue;
      const page = await (this.previous === null ? this.tested(first) : this.joined(first));
      if (page === null) return first;
      const { facts } = page;
      // If fewer records are asked for now (a body was too large), the pages' length is unknown.
      const known = reader.paging().pageSize === before.pageSize ? before.longestPage : null;
      if (facts.length === 0) {
        if (yield* this.entersNextWindow(page)) continue;
        yield position.lastPage(page);
        return null;
      }
      this.learnLength(page, known ?? 0);
      if (isOutOfOrder(facts, reader.least(this.cursor.anchor))) return page;

      const isShorter = facts.length < (known ?? 0);
      const isEverything = reader.kind === 'single' && !mayBeCut(feed, page) && isShorter;
      const isEnd = () =>
        start.wide || start.snapshot || isShortPageLast(feed, reader, this.cursor.anchor, page);
      const isShort = reader.kind === 'numbered' ? isShorter && (await isEnd()) : reader.isEnd(page);
      const fullPage = isEverything ? Number.POSITIVE_INFINITY : this.fullPage(page, known, isShort);
      const present = this.clocks.presentAt(page, isShort);
      this.pin = present.pin;
      const step = nextStep(this.cursor, facts, { fullPage, ...present });
      const mark = this.markAt(page);
      const isJoint = step.kind === 'anchor' && step.cursor.leaps === this.cursor.leaps && !isShort;
      const joint = isJoint ? await this.joint(page, step.cursor.anchor) : (facts.last ?? this.cursor.anchor);
      if (joint === null) return page;
      // A page of one second does not show the order, so the mark waits for the pages behind it.
      if (step.kind !== 'wide-second') this.moveMark(Math.min(mark, joint), joint + (isEverything ? 1 : 0));
      const isOver = step.kind === 'end';
      if (isOver && (await this.lagTest.atEnd(joint))) return page;
      yield position.page(page, isOver && !this.hasNextWindow(page));
      if (isOver && (yield* this.entersNextWindow(page))) continue;
      if (isOver) return null;
      if (step.kind === 'anchor') {
        const { leaps } = step.cursor;
        if (leaps > this.cursor.leaps) this.moveTo(step.cursor, null);
        else this.moveTo({ ...step.cursor, anchor: joint }, seamAt(joint, [facts], this.cursor.anchor));
        continue;
      }
      const outcome = yield* this.readWideSecond(page, step.second, mark);
      if (outcome === 'end') return null;
      if (outcome === 'out-of-order') return page;
    }
  }

  /** A page that is shorter ends the scan; null: only an empty page does. @param known the longest page that came so far */
  private fullPage(page: FetchedPage, known: number | null, isShort: boolean): number | null {
    // A single short page must end neither a wide poll nor a snapshot.
    if (this.start.wide || this.start.snapshot) return null;
    // An answer that holds everything may be cut at a length that nobody has declared.
    if (this.position.reader.kind === 'single') return mayBeCut(this.position.feed, page) ? null : known;
    return isShort || page.isLast ? Number.POSITIVE_INFINITY : null;
  }

  private moveTo(next: KeysetCursor, seam: Seam | null): void {
    this.position.leavesOut ||= next.leaps > 0;
    this.cursor = next;
    this.seam = seam;
    this.restarts = 0;
    this.disorders = 0;
    // Behind the pin rows may move on for ever: a scan that follows them comes no further.
    if (next.anchor <= this.furthest || next.anchor > this.pin) return;
    this.furthest = next.anchor;
    this.rejoins = 0;
  }

  /** Whether the API answers only a range of time, which ends before the present. */
  private hasNextWindow({ knownSecond }: FetchedPage): boolean {
    return this.position.reader.windowEnd(this.cursor.anchor) < knownSecond;
  }

  /** Nothing is left in the range that the API answers: the next range comes, if there is one. */
  private async *entersNextWindow(page: FetchedPage): AsyncGenerator<ScanPage, boolean> {
    if (!this.hasNextWindow(page)) return false;
    const { reader } = this.position;
    const end = reader.windowEnd(this.cursor.anchor);
    const mark = await this.position.markBehind(end, page);
    this.moveMark(mark, mark);
    yield { ...this.position.page(page), rows: [] };
    const anchor = reader.nextWindow(this.cursor.anchor);
    this.moveTo({ ...this.cursor, anchor, expectsRows: false }, null);
    return true;
  }

  /** Where the next page has to begin. @returns null if the page behind this one shows that rows do not come oldest first */
  private async joint({ facts }: FetchedPage, last: number): Promise<number | null> {
    const { anchor } = this.cursor;
    const { reader } = this.position;
    const joint = jointOf(facts, anchor, this.start.otherBorders === true);
    if (joint !== null || reader.kind === 'single') return joint ?? last;
    // One answer in another order is not believed.
    for (let answer = 0; answer < 2; answer++) if (!(await showsOlder(reader, anchor, facts))) return last;
    return null;
  }

  /** The page, or another one that joins what was read before. @returns null if the filter is of no use */
  private async joined(page: FetchedPage): Promise<FetchedPage | null> {
    const { seam } = this;
    const { anchor } = this.cursor;
    if (seam === null || seam.due.size === 0) return page;
    // A page that does not pass the anchor's second may show the seam on the pages behind it.
    if (page.facts.length > 0 && (page.facts.last ?? 0) <= anchor)
      return (await this.lagTest.atSlowPage(anchor)) ? null : page;
    const missing = this.toBeTested(seam, missingOf(page.facts, seam));
    return missing === null ? page : this.rejoined(page, missing, anchor);
  }

  /** The rows of the seam that an earlier request is to show. If only some are missing, that is looked for once: most often they have moved. */
  private toBeTested(seam: Seam, missing: Seam): Seam | null {
    if (missing.due.size === seam.due.size) return seam;
    if (missing.due.size === 0 || this.hasTestedPart) return null;
    this.hasTestedPart = true;
    return missing;
  }

  private async rejoined(page: FetchedPage, seam: Seam, anchor: number): Promise<FetchedPage | null> {
    this.seam = null;
    if (this.rejoins++ >= MOST_RESTARTS) {
      await this.position.giveUpOn(anchor, 'not-settled');
      return page;
    }
    const { reader } = this.position;
    const { lag, begin } = reader.paging();
    const found = await join(this.position, seam, anchor, page);
    if (found === null) return null;
    // The first request of the scan has left rows out as well, unless it asked for everything.
    const now = reader.paging();
    const mayMiss = (now.lag !== lag && this.from > 0) || now.begin !== begin;
    const { page: joined, anchor: from } = mayMiss
      ? { page: await reader.readFirst(this.from), anchor: this.from }
      : found;
    this.cursor = { ...this.cursor, anchor: from };
    return joined;
  }

  /**
   * The first page of a poll shows the row that has set the mark. If it does not, the row is gone, or the filter leaves it out. An earlier
   * second tells: that is tested once for each mark.
   */
  private async tested(page: FetchedPage): Promise<FetchedPage | null> {
    const { position, from } = this;
    const { reader } = position;
    const { highWaterMark: mark, mayRewind, snapshot, wide } = this.start;
    const { least, length } = page.facts;
    // A mark that a clock has set belongs to no row, so an ordinary poll does not look far behind it.
    const isOdd = length === 0 || ((wide || snapshot) && (least === null || least > mark));
    if (!mayRewind || mark === 0 || from === 0 || !isOdd) return page;
    const isTested = reader.paging().lagTestedAt === mark;
    // A range without rows does not tell where pages begin.
    const mayBegin = !isTested || position.feed.windowSeconds !== undefined;
    if (mayBegin && (await reader.testBegin(from))) return reader.readFirst(from);
    if (length === 0 && (wide || !isTested) && (await position.showsNothing())) return page;
    if (isTested) return page;
    reader.setPaging({ ...reader.paging(), lagTestedAt: mark });
    const second = Math.max(0, from - LONGEST_LAG);
    const earlier = await reader.readFirst(second);
    const { facts } = earlier;
    const leftOut = facts.updated.find(
      (updated, i) =>
        updated !== null &&
        updated >= from &&
        updated <= mark &&
        position.isKnown?.(facts.ids[i] ?? '') !== false,
    );
    if (leftOut !== undefined) return this.rejoined(page, seamAt(leftOut!, [facts], second), leftOut!);
    if (await isFilterOfNoUse(position, from, mark)) return null;
    if (facts.length === 0) return page;
    // The row is gone, or it comes on a later page.
    this.moveTo({ ...this.cursor, anchor: second, expectsRows: true }, null);
    return earlier;
  }

  /** If the first answer shows that the scan began ahead of the present, it begins again. @returns whether it does */
  private rewinds(page: FetchedPage): boolean {
    if (this.previous !== null || !this.mayRewind || page.knownSecond >= this.from) return false;
    this.mayRewind = false;
    this.moveTo({ ...this.cursor, anchor: this.position.rewound(page) }, null);
    return true;
  }

  /** Only a wide poll goes on behind a short page. New rows there show that the server gives shorter pages than before. */
  private learnLength(page: FetchedPage, known: number): void {
    const { reader } = this.position;
    const { facts } = page;
    const before = this.previous?.facts;
    if (before !== undefined && before.length < known && !bringsNothingNew(facts, before))
      reader.setPaging({ ...reader.paging(), longestPage: Math.max(before.length, facts.length) });
    this.previous = page;
  }

  /** Some APIs refuse times ahead of the present. @returns an empty page, if the scan only looks for rows dated ahead */
  private refusedAhead(error: unknown): FetchedPage {
    const { previous, position } = this;
    const isAhead = previous !== null && position.reader.least(this.cursor.anchor) > previous.knownSecond;
    if (!isAhead || !isCode(error, REFUSALS)) throw error;
    this.seam = null; // it would be asked for in the same way
    return pageBehind(previous);
  }

  /** The mark that the page allows: before the seconds in which rows may still become visible. */
  private markAt({ facts, knownSecond }: FetchedPage): number {
    if ((facts.last ?? 0) >= knownSecond - this.position.feed.overlapSeconds)
      this.nearSince = Math.min(this.nearSince, knownSecond);
    return Math.min(facts.last ?? this.cursor.anchor, knownSecond, this.nearSince);
  }

  /** Rows beyond a leap say nothing about those leapt over. */
  private moveMark(highWaterMark: number, shownBelow: number): void {
    if (this.cursor.leaps === 0 && this.position.blockedBy === null)
      Object.assign(this.position, { highWaterMark, shownBelow });
  }

  /** Reads on behind a first page that holds a single second, and moves the mark and the cursor behind that second. */
  private async *readWideSecond(
    page: FetchedPage,
    second: number,
    mark: number,
  ): AsyncGenerator<ScanPage, WideSecond> {
    const { position, cursor, seam } = this;
    const { feed, reader } = position;
    const { otherBorders } = this.start;
    const wide = { from: cursor.anchor, second, reach: pagingReach(feed), otherBorders };
    const window = new WindowReader(feed, reader, wide);
    const passing: PageFacts[] = [];
    let missing = seam === null || seam.due.size === 0 ? null : missingOf(page.facts, seam);
    try {
      for await (const behind of window.behind(page)) {
        this.clocks.saw(behind);
        if (missing !== null) missing = missingOf(behind.facts, missing);
        if ((behind.facts.greatest ?? 0) > second) passing.push(behind.facts);
        yield position.page(behind);
      }
    } catch (error) {
      // With a lag, or without time stamps, each later second would show the same rows again.
      const mayPass = reader.paging().lag === 0 && page.facts.last !== null && this.blocks++ < MOST_RESTARTS;
      if (!isBehindReach(error) || !mayPass) throw error;
      // Later rows do not wait for rows that cannot be read. The mark stays in front of the latter.
      position.blockedBy ??= error;
      this.moveTo({ ...cursor, anchor: second + 1, expectsRows: false }, null);
      return 'read';
    }
    const { end, next } = window;
    if (end === 'page-size-changed') return 'read-again';
    if (!reader.paging().ordered || (end === 'not-in-order' && this.disorders++ > 0)) return 'out-of-order';
    const isGivenUp = end === 'not-settled' || end === 'repeated';
    if (isGivenUp || (end !== 'all-read' && this.restarts++ >= MOST_RESTARTS))
      await position.giveUpOn(cursor.anchor, end);
    else if (end !== 'all-read') return 'read-again';
    const unshown = missing === null ? null : this.toBeTested(seam!, missing);
    if (unshown !== null)
      return (await this.rejoined(page, unshown, cursor.anchor)) === null ? 'out-of-order' : 'read-again';
    this.moveMark(mark, next ?? second + 1);
    const isBeyond = next !== null && this.clocks.isBeyond(next);
    const leapt = isBeyond ? leapOver(cursor, this.clocks.now) : null;
    if (leapt !== null) this.moveTo(leapt, null);
    if (leapt !== null) return 'read';
    if (next === null || isBeyond) {
      if (next === null && (yield* this.entersNextWindow(window.page))) return 'read';
      yield position.lastPage(window.page);
      return 'end';
    }
    // Not the second that follows: if rows have no time stamp, each of them would show the same rows again.
    this.moveTo({ ...cursor, anchor: next, expectsRows: true }, seamAt(next, passing, cursor.anchor));
    return 'read';
  }
}
