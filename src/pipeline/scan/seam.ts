import { HighwaterError } from '../../errors';
import type { Feed } from '../../feeds/feed';
import { WHOLE_FEED } from '../../types';
import { type FetchedPage, haveSameKeys, isContent, isNoRecord, type PageFacts } from './pages/page-facts';
import type { PageReader } from './pages/page-reader';
import { pagingReach } from './pages/paging';
import { isCode, REFUSALS, unlessRefused } from './pages/refusals';
import { WindowReader } from './pages/window-reader';
import type { ScanPosition } from './scan-position';

/**
 * The rows at an anchor that were shown before. The page from the anchor has to join them: one of them has to come again at the same
 * second. A filter that leaves them out leaves out others that nobody has seen. Times are Unix seconds.
 */
export interface Seam {
  /** Key of a row → the second at which it was shown. */
  readonly due: ReadonlyMap<string, number>;
  /** Seconds from which requests show these rows, or ought to: the latest first. The last one has shown them. */
  readonly earlier: readonly number[];
}

/** A filter by `>`, by whole minutes or quarters of an hour, without the time zone, by whole days. Seconds. */
const LAGS = [1, 60, 900, ...Array.from({ length: 14 }, (_, i) => (i + 1) * 3600), 86_400, 172_800];

export const LONGEST_LAG = LAGS.at(-1)!;

/** A filter that rounds may need less for one row than for another. */
export const MOST_ROUNDED = 900;

/** @param pages that have shown the anchor @param from the second that they were asked from */
export function seamAt(anchor: number, pages: readonly PageFacts[], from: number): Seam {
  const due = new Map<string, number>();
  const before = new Set<number>();
  for (const { keys, updated } of pages)
    keys.forEach((key, i) => {
      const second = updated[i] ?? null;
      if (second === null) return;
      if (second === anchor) due.set(key, second);
      else if (second < anchor && second > from) before.add(second);
    });
  const seconds = [...before].sort((a, b) => b - a);
  const some = [seconds[0], seconds[seconds.length >> 1], from];
  return { due, earlier: [...new Set(some)].filter((second) => second !== undefined) };
}

/** The rows of the seam that a page does not show. */
export function missingOf({ keys, updated }: PageFacts, seam: Seam): Seam {
  const shown = new Map(keys.map((key, i) => [key, updated[i]]));
  return { ...seam, due: new Map([...seam.due].filter(([key, second]) => shown.get(key) !== second)) };
}

function showsSeam({ keys, updated }: PageFacts, { due }: Seam): boolean {
  return keys.some((key, i) => due.has(key) && due.get(key) === updated[i]);
}

/** The page to go on with, and the second from which on it was asked for. */
interface Joined {
  readonly page: FetchedPage;
  readonly anchor: number;
}

/**
 * The page from an anchor has not shown the seam again. Either its rows have moved on, or the filter leaves them out. A request from
 * an earlier second tells. If the filter leaves them out, this learns how much earlier it has to be asked.
 *
 * @returns null if no lag makes the filter show the seam: it goes by something else than `updated`
 */
export async function join(
  position: ScanPosition,
  seam: Seam,
  anchor: number,
  page: FetchedPage,
): Promise<Joined | null> {
  const { reader } = position;
  if (await reader.testBegin(anchor)) return { page: await reader.readFirst(anchor), anchor };
  for (const second of seam.earlier) {
    const { first: earlier, isShown, seen: seenEarlier } = await look(reader, second, seam, anchor);
    if (isShown) {
      const again = await reader.readFirst(anchor);
      if (showsSeam(again.facts, seam)) return { page: again, anchor };
      const show = async (from: number) => {
        const looked = await look(reader, from, seam, anchor);
        const mayBeShown = from === anchor && showsUnreadable(looked.seen, seenEarlier, seam, anchor);
        return { isShown: looked.isShown || mayBeShown };
      };
      // An answer that says that it lacks rows tells nothing of the filter.
      const isLeftOut = (await isAlways(show, anchor, second)) && reader.announced.hidden?.by !== 'partial';
      return isLeftOut ? learnLag(position, seam, anchor, second) : { page: earlier, anchor: second };
    }
    // It shows a row in front of the anchor, and so everything behind that row: the rows of the seam have moved on.
    if (earlier.facts.least !== null && earlier.facts.least < anchor)
      return { page: earlier, anchor: second };
  }
  return { page, anchor };
}

/**
 * Whether there is a row without an id or a time that may be one of the seam. Rows that never have an id are told by their content, and an
 * earlier request shows them as well.
 * @param earlier rows by a request from an earlier second
 */
function showsUnreadable(seen: Looked['seen'], earlier: Looked['seen'], { due }: Seam, anchor: number) {
  return [...seen].some(([key, second]) => {
    if (!isContent(key)) return Number.isNaN(second) && due.has(key);
    return !(second > anchor) && (isNoRecord(key) || !earlier.has(key));
  });
}

/** Requests from the later second (L) and the earlier one (E). In no fixed turn do two servers answer all L, and only these. */
const TURNS = 'LEELELLELLEE';

/**
 * Whether requests from one second never show what requests from an earlier second always show. One of two servers behind the address
 * may lag, so that an answer by itself proves nothing.
 */
async function isAlways(
  show: (from: number) => Promise<{ readonly isShown: boolean }>,
  second: number,
  earlier: number,
): Promise<boolean> {
  for (const turn of TURNS)
    if ((await show(turn === 'L' ? second : earlier)).isShown === (turn === 'L')) return false;
  return true;
}

interface Looked {
  readonly first: FetchedPage;
  readonly isShown: boolean;
  readonly isFar: boolean;
  /** Key of each row on the pages → its second. */
  readonly seen: ReadonlyMap<string, number>;
}

/** The pages from a second on, until they show the seam or pass the anchor, which may be too far behind them. */
async function look(reader: PageReader, from: number, seam: Seam, anchor: number): Promise<Looked> {
  const first = await reader.readFirst(from);
  const seen = new Map<string, number>();
  let page = first;
  for (let n = 1, before = 0; ; n++) {
    const { facts } = page;
    for (const [i, key] of facts.keys.entries()) seen.set(key, facts.updated[i] ?? Number.NaN);
    if (showsSeam(facts, seam)) return { first, isShown: true, isFar: false, seen };
    if (n >= MOST_PAGES) return { first, isShown: false, isFar: true, seen };
    if (facts.length === 0 || (facts.greatest ?? 0) > anchor || reader.kind === 'single') break;
    before += facts.length;
    if (before >= reader.reach) break;
    const next = await reader.read(from, n, before);
    if (next === 'page-size-changed') return look(reader, from, seam, anchor);
    // Positions behind the last row may show the last page again. Numbers that count from 1 show the first page twice.
    if (n > 1 && haveSameKeys(next.facts, facts)) break;
    page = next;
  }
  return { first, isShown: false, isFar: false, seen };
}

/** A second that is wider than so many pages is not looked through for one row. */
const MOST_PAGES = 100;

/**
 * @param shownFrom a request from this second shows the seam
 * @returns the page from the anchor by the lag that was learned; null: no lag is enough, so the filter is not used any more
 */
async function learnLag(
  position: ScanPosition,
  seam: Seam,
  anchor: number,
  shownFrom: number,
): Promise<Joined | null> {
  const { reader } = position;
  const { lag: before } = reader.paging();
  // A lag of hours grows by one when summer time ends, once. One that grows otherwise is none: the filter goes by another time, which
  // differs from row to row.
  const isHours = before > MOST_ROUNDED;
  const mayGrow = isHours && !grown.has(position.feed) && (await showsNoneUpTo(reader, seam, anchor));
  let lags: readonly number[] = LAGS;
  if (isHours) lags = mayGrow ? [before + 3_600] : [];
  for (const lag of lags) {
    if (lag <= before || !LAGS.includes(lag)) continue;
    reader.setPaging({ ...reader.paging(), lag });
    const { first: page, isShown, isFar, seen } = await look(reader, anchor, seam, anchor);
    if (!isShown && !isFar) continue;
    // The clock of a zone shows no row from before the anchor, but for a part of an hour.
    if (isHours && [...seen.values()].some((second) => second < anchor - 3_600)) break;
    if (await leavesOutLater(reader, anchor)) break;
    if (isHours) grown.add(position.feed);
    warnOfLag(position, lag);
    return { page, anchor };
  }
  reader.setPaging({ ...reader.paging(), lag: before });
  const { first: still, isShown } = await look(reader, shownFrom, seam, anchor);
  if (!isShown) return { page: still, anchor: shownFrom };
  giveUpFilter(position);
  return null;
}

/** Feeds whose lag of hours has grown. */
const grown = new WeakSet<Feed>();

/** Whether a request from an anchor shows no row up to it, as it is with the clock of a zone that is later than was learned. */
async function showsNoneUpTo(reader: PageReader, seam: Seam, anchor: number): Promise<boolean> {
  const { seen } = await look(reader, anchor, seam, anchor);
  return ![...seen.values()].some((second) => second <= anchor);
}

/**
 * Whether the filter leaves out a row that is later than one that it shows. A filter by `updated` never does, whatever its lag. One by the
 * time of creation seems to have a lag, if most rows are updated some time later.
 */
async function leavesOutLater(reader: PageReader, anchor: number): Promise<boolean> {
  const none: Seam = { due: new Map(), earlier: [] };
  const { seen: shown } = await look(reader, anchor, none, anchor);
  let least = anchor;
  for (const second of shown.values()) least = Math.min(least, second);
  for (const from of [Math.max(0, anchor - LONGEST_LAG), 0]) {
    const { seen } = await look(reader, from, none, anchor);
    const ties = new Map<number, number>();
    for (const second of seen.values()) ties.set(second, (ties.get(second) ?? 0) + 1);
    // One of several rows of a second may be hidden where two pages meet.
    const row = [...seen].find(
      ([key, second]) =>
        second > least && second < anchor && ties.get(second) === 1 && shown.get(key) !== second,
    );
    if (row === undefined) continue;
    const alone: Seam = { ...none, due: new Map([row]) };
    if (await isAlways((second) => look(reader, second, alone, row[1]), anchor, from)) return true;
  }
  return false;
}

/** After this many seconds that were read with a long lag, one walk over all of them costs less. */
const MOST_SLOW = 20;

/** Tests during a snapshot whether the lag that was learned is one. When it is learned, there may be too few rows to tell. */
export class LagTest {
  /** How many pages have only repeated rows from before the anchor, since the filter is asked for a long time earlier. */
  private slow = 0;

  constructor(
    private readonly position: ScanPosition,
    private readonly isSnapshot: boolean,
    /** The scan may read everything at once instead. */
    private readonly mayReadAtOnce: boolean,
  ) {}

  /**
   * Each test reads many pages, so it is made ever more seldom.
   * @returns whether the scan reads everything at once: without the filter, or since each page from a later second shows the same rows
   */
  async atSlowPage(anchor: number): Promise<boolean> {
    const isDue = Number.isInteger(Math.log2(++this.slow) / 2);
    if (isDue && (await this.atEnd(anchor))) return true;
    return this.mayReadAtOnce && this.slow > MOST_SLOW && this.position.reader.paging().lag > MOST_ROUNDED;
  }

  /** @returns as `atSlowPage` */
  async atEnd(anchor: number): Promise<boolean> {
    const { reader } = this.position;
    const { lag } = reader.paging();
    const isLearned = this.isSnapshot && lag > LAGS[0]! && lag < WHOLE_FEED;
    if (!isLearned || !(await leavesOutLater(reader, anchor))) return false;
    giveUpFilter(this.position);
    return true;
  }
}

/** Pages that are read to find out whether the filter leaves out rows. A reconcile finds the rows of a larger feed. */
const MOST_TEST_PAGES = 100;

/**
 * The filter shows no row between a second and the mark. Looks whether it shows one if it is asked for days earlier, or whether the
 * whole feed has one. If only the whole feed has one, the filter goes by something else than `updated`, and it is not used any more.
 * @returns whether that is so
 */
export async function isFilterOfNoUse(position: ScanPosition, from: number, mark: number): Promise<boolean> {
  const { feed, reader } = position;
  const { lag, ordered } = reader.paging();
  const reach = Math.min(pagingReach(feed), MOST_TEST_PAGES * feed.pageSize);
  const isBetween = (facts: PageFacts) => isShownBetween(facts, from, mark, position.isKnown);
  const walk = async (second: number) => ({
    isShown: await hasPage(new WindowReader(feed, reader, { from: second, second: null, reach }), isBetween),
  });
  const show = async (second: number) =>
    second < from ? walk(second) : { isShown: isBetween((await reader.readFirst(second)).facts) };
  for (const earlier of new Set([Math.max(0, from - LONGEST_LAG), 0])) {
    const { isShown } = await show(earlier);
    reader.setPaging({ ...reader.paging(), lag, ordered });
    if (!isShown && earlier === 0 && position.shownRecords > reach && (await showsNoRow(position, mark)))
      position.distrustFilter();
    if (!isShown) continue;
    if (!(await isAlways(show, from, earlier))) return false;
    reader.setPaging({ ...reader.paging(), lag: LONGEST_LAG, ordered });
    if ((await walk(from)).isShown) {
      warnOfLag(position, LONGEST_LAG);
      return false;
    }
    giveUpFilter(position);
    return true;
  }
  return false;
}

/** Whether the filter shows no row even from the second of a row on that the whole feed begins with. */
async function showsNoRow({ reader, isKnown }: ScanPosition, mark: number): Promise<boolean> {
  const { ids, updated } = (await reader.readFirst(0)).facts;
  const seconds = updated.filter(
    (second, i) => second !== null && second <= mark && isKnown?.(ids[i] ?? '') !== false,
  );
  const second = Math.max(...seconds.map(Number));
  if (!(second > 0)) return false;
  // The row may be the latest one, and a filter by `>`, or one that rounds, leaves it out.
  const before = Math.max(1, second - MOST_ROUNDED);
  const show = async (from: number) => {
    const page = await unlessRefused(reader.readFirst(from));
    return { isShown: page === null ? from > 0 : page.facts.length > 0 };
  };
  return isAlways(show, before, 0);
}

/** Whether one of the first pages of a window is such. */
async function hasPage(window: WindowReader, isSuch: (facts: PageFacts) => boolean): Promise<boolean> {
  let pages = 0;
  try {
    for await (const { facts } of window.pages()) {
      if (isSuch(facts)) return true;
      if (++pages >= MOST_TEST_PAGES) return false;
    }
  } catch (error) {
    const isOfScan = error instanceof HighwaterError && error.code.startsWith('SCAN_');
    if (!isOfScan && !isCode(error, REFUSALS)) throw error;
  }
  return false;
}

/**
 * Whether the page has a row between two seconds, both included.
 * @param isCounted whether rows of a record count: a server that lags shows records that are gone. Default: all
 */
export function isShownBetween(
  { updated, ids }: PageFacts,
  from: number,
  through: number,
  isCounted: (id: string) => boolean = () => true,
): boolean {
  return updated.some(
    (second, i) => second !== null && second >= from && second <= through && isCounted(ids[i] ?? ''),
  );
}

function warnOfLag({ warnOfFilter }: ScanPosition, lag: number): void {
  warnOfFilter(
    `does not show the rows of the second that it is asked for, but does so if it is asked for ${lag} s earlier. ` +
      `From now on it is asked for ${lag} s earlier.`,
  );
}

function giveUpFilter({ feed, reader, warnOfFilter }: ScanPosition): void {
  reader.setPaging({ ...reader.paging(), lag: WHOLE_FEED });
  warnOfFilter(ofNoUse(feed));
}

/** Said of the filter of a feed. */
export function ofNoUse({ updatedField }: Feed): string {
  return (
    `leaves out rows with a later ${updatedField} than it is asked for, so it goes by something else. ` +
    'It is not used any more: each poll reads the whole feed. ' +
    `Set parameters.updatedSince of the feed to a filter by ${updatedField}, or to null.`
  );
}
