import type { Feed } from '../../feeds/feed';
import type { Logger } from '../../logging/logger';
import type { Source } from '../../source/source';
import type { Paging, ScanPage } from '../../types';
import { mayBeCut } from './first-page';
import { type KeysetCursor, nextStep } from './keyset-cursor';
import { bringsNothingNew, type FetchedPage, type PageFacts } from './page-facts';
import { PageReader } from './page-reader';
import { MOST_RESTARTS, WindowReader } from './page-walk';
import { pagingReach, withPageSize } from './paging';
import { Clocks } from './present';
import { ScanPosition } from './scan-position';
import { scanWithoutOrder } from './scan-without-order';

/** The begin of a scan, and the facts known before it. Times are Unix seconds. */
export interface ScanStart {
  readonly highWaterMark: number;
  /** The first snapshot is not complete yet. */
  readonly snapshot: boolean;
  /** Reads from further back, and only an empty page is the end. */
  readonly wide: boolean;
  /** How far before the mark it begins, if not as the feed says. */
  readonly overlapSeconds?: number;
  readonly paging: Paging;
  /** Everything is read, though not for a first snapshot. Unknown paging is learned first. */
  readonly whole?: boolean;
}

export interface ScanDeps {
  readonly source: Source;
  readonly logger: Logger;
}

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
  const paging =
    start.wide && start.paging.pageSize < feed.pageSize
      ? withPageSize(start.paging, feed.pageSize)
      : start.paging;
  const reader = new PageReader(feed, deps.source, paging, signal);
  // Only a scan of the whole feed can learn the paging, because its rows have different seconds.
  const isWhole = start.whole === true || (start.snapshot && start.highWaterMark === 0);
  if (isWhole && (reader.paging().unit === null || feed.paging.style !== 'page')) await reader.learnPaging();
  const overlap = start.overlapSeconds ?? (start.wide ? feed.wideOverlapSeconds : feed.overlapSeconds);
  const from = Math.max(0, start.highWaterMark - overlap);
  // A mark may lie ahead of the present. A second that the caller names is kept.
  const mayRewind = start.overlapSeconds === undefined;

  const position = new ScanPosition(feed, reader, deps.logger, start.snapshot, start.highWaterMark, from);
  // Marks that relied on a wrong order prove nothing, so a snapshot begins again.
  const restart = start.snapshot
    ? { from: 0, highWaterMark: 0 }
    : { from, highWaterMark: start.highWaterMark };
  async function* readInOrder(begin: number): AsyncGenerator<ScanPage, boolean> {
    const inOrder = new OrderedScan(position, begin, { ...start, mayRewind });
    const outOfOrder = yield* inOrder.pages();
    if (outOfOrder === null) return true;
    reader.setPaging({ ...reader.paging(), ordered: false });
    position.highWaterMark = restart.highWaterMark;
    position.shownBelow = 0;
    // The marks go back before anything else can fail.
    yield { ...position.page(outOfOrder), rows: [] };
    return false;
  }

  if (reader.paging().ordered && (yield* readInOrder(from))) return;
  position.highWaterMark = restart.highWaterMark;
  const beyondReach = yield* scanWithoutOrder(position, restart, mayRewind);
  if (beyondReach === null) return;
  reader.setPaging({ ...reader.paging(), ordered: true });
  if (!(yield* readInOrder(restart.from))) throw beyondReach;
}

/** How the reading of one second that is wider than a page went. */
type WideSecond = 'read' | 'read-again' | 'out-of-order' | 'end';

/** A scan that relies on rows coming oldest first. */
class OrderedScan {
  private readonly clocks: Clocks;
  private cursor: KeysetCursor;
  /** The scan may begin again, before the present, once. */
  private mayRewind: boolean;
  private previous: PageFacts | null = null;
  /** Time of the answer to the first page that reaches into the seconds in which rows may still become visible. */
  private nearSince = Number.POSITIVE_INFINITY;
  /** How often reading from this anchor has begun again, and how often because a row was older than those before it. */
  private restarts = 0;
  private disorders = 0;

  constructor(
    private readonly position: ScanPosition,
    private readonly from: number,
    private readonly start: ScanStart & { readonly mayRewind: boolean },
  ) {
    const expectsRows = start.highWaterMark > 0 || start.snapshot;
    this.cursor = { anchor: from, expectsRows, leaps: 0 };
    this.clocks = new Clocks(start.snapshot, position.feed.overlapSeconds);
    this.mayRewind = start.mayRewind;
  }

  /** @returns null at the end, or the page at which the rows turned out not to come oldest first */
  async *pages(): AsyncGenerator<ScanPage, FetchedPage | null> {
    const { position, start } = this;
    const { reader } = position;
    for (;;) {
      const before = reader.paging();
      // If rows were there before, and at any end of a snapshot, one empty answer is not enough.
      const page = await believed(reader, this.cursor.anchor, this.cursor.expectsRows || start.snapshot);
      if (this.rewinds(page)) continue;
      const { facts } = page;
      // If fewer records are asked for now (a body was too large), the pages' length is unknown.
      const known = reader.paging().pageSize === before.pageSize ? before.longestPage : null;
      if (facts.length === 0) {
        yield position.lastPage(page);
        return null;
      }
      this.learnLength(facts, known ?? 0);
      if (isOutOfOrder(facts, this.cursor.anchor)) return page;

      const isEverything = reader.kind === 'single' && !mayBeCut(position.feed, page);
      const isShort = reader.kind === 'numbered' ? facts.length < (known ?? 0) : page.next === null;
      const fullPage = isEverything ? Number.POSITIVE_INFINITY : this.fullPage(page, known);
      const step = nextStep(this.cursor, facts, { fullPage, ...this.clocks.presentAt(page, isShort) });
      const mark = this.markAt(page);
      // A page of one second does not show the order, so the mark waits for the pages behind it.
      if (step.kind !== 'wide-second')
        this.moveMark(mark, (facts.last ?? this.cursor.anchor) + (isEverything ? 1 : 0));
      yield position.page(page, step.kind === 'end');
      if (step.kind === 'end') return null;
      if (step.kind === 'anchor') {
        this.moveTo(step.cursor);
        continue;
      }
      const outcome = yield* this.readWideSecond(page, step.second, mark);
      if (outcome === 'end') return null;
      if (outcome === 'out-of-order') return page;
    }
  }

  /** A page that is shorter ends the scan; null: only an empty page does. @param known the longest page that came so far */
  private fullPage(page: FetchedPage, known: number | null): number | null {
    // A single short page must end neither a wide poll nor a snapshot.
    if (this.start.wide || this.start.snapshot) return null;
    if (this.position.reader.kind === 'numbered') return known;
    return page.next === null ? Number.POSITIVE_INFINITY : null;
  }

  private moveTo(next: KeysetCursor): void {
    this.cursor = next;
    this.restarts = 0;
    this.disorders = 0;
  }

  /** If the first answer shows that the scan began ahead of the present, it begins again. @returns whether it does */
  private rewinds(page: FetchedPage): boolean {
    if (this.previous !== null || !this.mayRewind || page.knownSecond >= this.from) return false;
    this.mayRewind = false;
    this.moveTo({ ...this.cursor, anchor: this.position.rewound(page) });
    return true;
  }

  /** Only a wide poll goes on behind a short page. New rows there show that the server gives shorter pages than before. */
  private learnLength(facts: PageFacts, known: number): void {
    const { previous } = this;
    const { reader } = this.position;
    if (previous !== null && previous.length < known && !bringsNothingNew(facts, previous))
      reader.setPaging({ ...reader.paging(), longestPage: Math.max(previous.length, facts.length) });
    this.previous = facts;
  }

  /** The mark that the page allows: before the seconds in which rows may still become visible. */
  private markAt({ facts, knownSecond }: FetchedPage): number {
    if ((facts.last ?? 0) >= knownSecond - this.position.feed.overlapSeconds)
      this.nearSince = Math.min(this.nearSince, knownSecond);
    return Math.min(facts.last ?? this.cursor.anchor, knownSecond, this.nearSince);
  }

  /** Rows beyond a leap say nothing about those leapt over. */
  private moveMark(highWaterMark: number, shownBelow: number): void {
    if (this.cursor.leaps === 0) Object.assign(this.position, { highWaterMark, shownBelow });
  }

  /** Reads on behind a first page that holds a single second, and moves the mark and the cursor behind that second. */
  private async *readWideSecond(
    page: FetchedPage,
    second: number,
    mark: number,
  ): AsyncGenerator<ScanPage, WideSecond> {
    const { position, cursor } = this;
    const { feed, reader } = position;
    const window = new WindowReader(feed, reader, { from: cursor.anchor, second, reach: pagingReach(feed) });
    for await (const behind of window.behind(page)) {
      this.clocks.saw(behind);
      yield position.page(behind);
    }
    const { end, next } = window;
    if (end === 'page-size-changed') return 'read-again';
    if (!reader.paging().ordered || (end === 'not-in-order' && this.disorders++ > 0)) return 'out-of-order';
    const isGivenUp = end === 'not-settled' || end === 'repeated';
    if (isGivenUp || (end !== 'all-read' && this.restarts++ >= MOST_RESTARTS))
      await position.giveUpOn(cursor.anchor, end);
    else if (end !== 'all-read') return 'read-again';
    this.moveMark(mark, next ?? second + 1);
    if (next === null) {
      yield position.lastPage(window.page);
      return 'end';
    }
    // Not the second that follows: if rows have no time stamp, each of them would show the same rows again.
    this.moveTo({ ...cursor, anchor: next, expectsRows: true });
    return 'read';
  }
}

/** A row is older than the second that was asked for, or than the row before it. */
function isOutOfOrder({ ascending, least }: PageFacts, anchor: number): boolean {
  return !ascending || (least !== null && least < anchor);
}

/** The first page from an anchor on. An odd answer is believed if a second answer is odd in the same way. */
async function believed(reader: PageReader, anchor: number, expectsRows: boolean): Promise<FetchedPage> {
  const met = new Set<string>();
  for (;;) {
    const page = await reader.readFirst(anchor);
    const isEmpty = page.facts.length === 0;
    const odd = isEmpty && expectsRows ? 'empty' : isOutOfOrder(page.facts, anchor) ? 'out of order' : null;
    if (odd === null || met.has(odd)) return page;
    met.add(odd);
  }
}
