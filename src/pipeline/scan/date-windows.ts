import { HighwaterError } from '../../errors';
import type { Feed } from '../../feeds/feed';
import { remind } from '../../logging/remind';
import type { Source } from '../../source/source';
import type { Paging } from '../../types';
import type { FetchedPage } from './pages/page-facts';
import { PageReader } from './pages/page-reader';
import { MOST_WALKS } from './pages/page-walk';
import { pagingReach } from './pages/paging';
import { noPage } from './pages/refusals';
import { isOutOfReach } from './pages/window';
import { WindowReader } from './pages/window-reader';
import { type ScanDeps, saidOfHidden } from './scan-position';

/** Days since 1970, both included. */
export interface Days {
  readonly first: number;
  readonly last: number;
}

/** A page of a window, or its end. */
export type WindowPage =
  | { readonly kind: 'page'; readonly page: FetchedPage; readonly paging: Paging }
  /** The days before `nextDay` are over. `shortfall`: why rows of them may be missing, for people; null: nothing says so. */
  | {
      readonly kind: 'read';
      readonly nextDay: number;
      readonly shortfall: string | null;
      readonly paging: Paging;
    };

const FIRST_DAYS = 32;
/** In pages of the feed's size. Larger windows are split, because a crash or restless rows repeat a whole window. */
const MOST_PAGES = 20;
/** A window with fewer pages was too narrow. */
const FEW_PAGES = MOST_PAGES / 4;

/**
 * Reads the records of some calendar days, window by window. A window that holds more rows than a walk should read, or than paging
 * reaches, is halved, down to one day. The pages of a window are walked as rows without order (`page-walk.ts`). So no row is
 * skipped, for any order of the server and even if rows move.
 *
 * `updated since` stays in the query, with 0: the specification says that it forces the order, and a request without it
 * would be the only one of its kind.
 *
 * @throws HighwaterError SCAN_BEYOND_REACH if a single day cannot be paged through, SCAN_PAGING_IGNORED, SCAN_PAGES_EMPTY, SOURCE_*
 */
export async function* readDays(
  feed: Feed,
  days: Days,
  known: Paging,
  deps: ScanDeps,
  signal: AbortSignal,
): AsyncGenerator<WindowPage> {
  let paging = await pagingOf(feed, known, deps.source, signal);
  let length = FIRST_DAYS;
  for (let first = days.first; first <= days.last; ) {
    const last = Math.min(days.last, first + length - 1);
    const isOneDay = first === last;
    const dates = { from: dateOf(first), to: dateOf(last) };
    const reader = new PageReader(feed, ofDates(deps.source, dates), paging, signal);
    const reach = pagingReach(feed);
    // The end of so many full pages is the position behind them.
    const mostRows = isOneDay ? reach : Math.min(reach, MOST_PAGES * feed.pageSize + 1);
    const window = new WindowReader(feed, reader, { from: 0, second: null, reach: mostRows });
    let rows = 0;
    let settled = false;
    try {
      for await (const page of window.pages()) {
        rows += page.rows.length;
        yield { kind: 'page', page, paging: reader.learned() };
      }
      settled = window.isSettled;
    } catch (error) {
      if (!isOutOfReach(error)) throw error;
      if (isOneDay) throw oneDayTooWide(feed, dates.from, error);
    }
    paging = reader.learned();
    if (!settled && !isOneDay) {
      length = Math.ceil((last - first + 1) / 2);
      continue;
    }
    const shortfall = settled
      ? await lackOf(reader, feed, deps, signal)
      : `${MOST_WALKS} walks over the rows of ${dates.from} still brought new ones.`;
    if (shortfall !== null) warnOf(shortfall, feed, deps, reader.announced.hidden?.by ?? dates.from);
    first = last + 1;
    if (rows <= FEW_PAGES * feed.pageSize) length *= 2;
    yield { kind: 'read', nextDay: first, shortfall, paging };
  }
}

/** Learns the paging from the whole feed, because a window may be too small. */
async function pagingOf(feed: Feed, known: Paging, source: Source, signal: AbortSignal): Promise<Paging> {
  if (known.unit !== null || feed.paging.style !== 'page') return known;
  const reader = new PageReader(feed, source, known, signal);
  await reader.learnPaging();
  return reader.learned();
}

function ofDates(source: Source, dates: { readonly from: string; readonly to: string }): Source {
  return { fetchPage: (feed, request, signal) => source.fetchPage(feed, { ...request, dates }, signal) };
}

function oneDayTooWide(feed: Feed, date: string, error: HighwaterError): HighwaterError {
  if (error.code !== 'SCAN_BEYOND_REACH') return error;
  return new HighwaterError(
    'SCAN_BEYOND_REACH',
    `The day ${date} of feed ${feed.name} holds more records than paging reaches (${pagingReach(feed)}).`,
    { cause: error },
  );
}

/** Why the answers of a window show that they lack rows; null: they do not, or by a total that is the same for dates without any row. */
async function lackOf(
  reader: PageReader,
  feed: Feed,
  { source }: ScanDeps,
  signal: AbortSignal,
): Promise<string | null> {
  const { hidden } = reader.announced;
  if (hidden?.by === 'total') {
    const without = ofDates(source, { from: dateOf(0), to: dateOf(0) });
    const empty = await new PageReader(feed, without, reader.learned(), signal).readFirst(0).catch(noPage);
    if (empty?.total === hidden.total) return null;
  }
  return hidden && saidOfHidden(hidden);
}

function warnOf(shortfall: string, feed: Feed, { logger }: ScanDeps, kind: string): void {
  const message = `Feed ${feed.name}: ${shortfall} The backfill goes on, but does not count as done.`;
  remind(feed, kind, () => logger.warn(message, { feed: feed.name }));
}

/** Calendar dates (2026-01-31) as whole days since 1970, and the seconds of a day in UTC. */
const DAY_SECONDS = 86_400;

/** 9999-12-31: later days cannot be written in this form. */
const LAST_DAY = 2_932_896;

/** @throws RangeError if the text is not a calendar date */
export function dayOf(date: string): number {
  if (!isDate(date)) throw new RangeError(`${date} is not a calendar date`);
  return Date.parse(date) / (DAY_SECONDS * 1000);
}

export function dateOf(day: number): string {
  return new Date(Math.min(day, LAST_DAY) * DAY_SECONDS * 1000).toISOString().slice(0, 10);
}

export function isDate(text: string): boolean {
  // A month of a year before 0 is as long as a date.
  if (!/^\d{4}-/.test(text)) return false;
  const ms = Date.parse(text);
  // Date.parse may take 30 February for 2 March.
  return !Number.isNaN(ms) && dateOf(ms / (DAY_SECONDS * 1000)) === text;
}

/** Unix seconds. */
export function firstSecondOf(day: number): number {
  return day * DAY_SECONDS;
}

/** Unix seconds. */
export function lastSecondOf(day: number): number {
  return (day + 1) * DAY_SECONDS - 1;
}
