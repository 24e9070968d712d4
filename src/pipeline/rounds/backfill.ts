import { HighwaterError } from '../../errors';
import type { Feed } from '../../feeds/feed';
import { rowKeys } from '../../feeds/row-keys';
import type { BackfillProgress, SourceOffset } from '../../state/source-offset';
import type { Paging, ScanPage, ScanProgress } from '../../types';
import { learnedPaging } from '../position';
import type { Round, RoundDeps } from '../round';
import {
  type Days,
  dateOf,
  dayOf,
  firstSecondOf,
  isDate,
  lastSecondOf,
  readDays,
} from '../scan/date-windows';
import { scan } from '../scan/scan';

/** Calendar dates (2026-01-31), both included. */
export interface BackfillRequest {
  readonly from: string;
  readonly to: string;
}

/**
 * Reads an older part of a feed again: by the records' own dates if the endpoint can filter by them, else by `updated`. Unknown
 * records are published as `r`, records that differ as `u`. The high-water mark does not move.
 *
 * Rows that the next poll reads anyway are left to it, so that a record that is created during a backfill is published as created.
 *
 * It continues where a backfill of the same dates stopped, if `offset` has one. Every page stores the progress in the offset, the
 * first page before anything is read. The last page ends the backfill.
 *
 * @throws RangeError if one of the dates is not a calendar date
 */
export function backfillRound(deps: RoundDeps, request: BackfillRequest): Round {
  const { feed } = deps;
  const { offset } = deps.state;
  const begun = goesOn(feed, offset, request) ?? newBackfill(feed, request);
  const paging = learnedPaging(offset, feed);
  const mark = offset.high_water_mark;
  /** The progress once a page is committed; null: the backfill has ended. */
  const progressAfter = new WeakMap<ScanPage, BackfillProgress | null>();

  function leadingTo(progress: BackfillProgress | null, page: ScanPage): ScanPage {
    progressAfter.set(page, progress);
    return page;
  }

  return {
    async *pages(stop) {
      const startedAt = performance.now();
      let progress = begun;
      yield leadingTo(progress, pageWithoutRows(paging, mark));
      const read = begun.next_date !== null ? byDate : byUpdated;
      for await (const part of read(begun, paging, deps, stop)) {
        const page = withoutRowsOfPolls(part.page, feed, deps.state.offset);
        progress = {
          ...progress,
          ...part.moved,
          spent_ms: begun.spent_ms + Math.round(performance.now() - startedAt),
          pages: progress.pages + 1,
          rows: progress.rows + page.rows.length,
        };
        yield leadingTo(progress, page);
      }
      yield leadingTo(null, pageWithoutRows(paging, mark, { complete: true }));
    },
    readsAhead: false,
    origin: () => 'backfill',
    position: (_, page) => ({ backfill: progressAfter.get(page)! }),
  };
}

/** How far a backfill has come. */
export interface BackfillStatus {
  /** 0 to 1. */
  readonly done: number;
  /** Rows of the committed pages, including repeats, without the rows that are left to polls. */
  readonly rows: number;
  /** The calendar date up to which everything has been read. */
  readonly reached: string;
  /** Null while it is unknown. */
  readonly secondsLeft: number | null;
}

export function describeProgress(offset: SourceOffset, nowMs: number): BackfillStatus | null {
  const { backfill } = offset;
  if (backfill === null) return null;
  const first = firstSecondOf(dayOf(backfill.from));
  // Few records are dated ahead, so the days after today cost next to nothing.
  const end = Math.max(first + 1, Math.min(lastSecondOf(dayOf(backfill.to)) + 1, Math.floor(nowMs / 1000)));
  const reached =
    backfill.next_date !== null ? firstSecondOf(dayOf(backfill.next_date)) : (backfill.next_second ?? first);
  const done = Math.min(1, Math.max(0, (reached - first) / (end - first)));
  const secondsLeft = done === 0 ? null : Math.ceil(((backfill.spent_ms / done) * (1 - done)) / 1000);
  return { done, rows: backfill.rows, reached: dateOf(Math.floor(reached / 86_400)), secondsLeft };
}

/** The stored backfill that has not reached its end, if it is one of other dates. */
export function unfinishedOther(
  { backfill }: SourceOffset,
  { from, to }: BackfillRequest,
): BackfillProgress | null {
  return backfill === null || (backfill.from === from && backfill.to === to) ? null : backfill;
}

function readsByDate({ parameters }: Feed): boolean {
  return Boolean(parameters.dateFrom && parameters.dateTo);
}

function newBackfill(feed: Feed, { from, to }: BackfillRequest): BackfillProgress {
  const first = dayOf(from);
  dayOf(to);
  const next = readsByDate(feed)
    ? { next_date: from, next_second: null }
    : { next_date: null, next_second: Math.max(0, firstSecondOf(first)) };
  return { from, to, ...next, asked_ms: Date.now(), spent_ms: 0, pages: 0, rows: 0 };
}

/** The stored progress, if it is of the same dates and of the way in which the feed is read now. */
function goesOn(feed: Feed, offset: SourceOffset, request: BackfillRequest): BackfillProgress | null {
  const { backfill: stored } = offset;
  if (stored === null || unfinishedOther(offset, request) !== null) return null;
  return (stored.next_date !== null) === readsByDate(feed) ? stored : null;
}

interface BackfillPage {
  readonly page: ScanPage;
  /** The progress that the page makes once it is committed. */
  readonly moved: Partial<BackfillProgress>;
}

async function* byDate(
  { next_date, to }: BackfillProgress,
  paging: Paging,
  deps: RoundDeps,
  signal: AbortSignal,
): AsyncGenerator<BackfillPage> {
  const { feed } = deps;
  const { high_water_mark: mark } = deps.state.offset;
  const days = withinQuery(feed, { first: dayOf(next_date!), last: dayOf(to) });
  try {
    for await (const part of readDays(feed, days, paging, deps, signal)) {
      if (part.kind === 'read') {
        const { shortfall } = part;
        const lack = shortfall === null ? {} : { settled: false, shortfall };
        yield {
          page: pageWithoutRows(part.paging, mark, lack),
          moved: { next_date: dateOf(part.nextDay) },
        };
        continue;
      }
      const { rows, observedAtMs, reread } = part.page;
      const { progress } = pageWithoutRows(part.paging, mark);
      yield { page: { rows, observedAtMs, reread, progress }, moved: {} };
    }
  } catch (error) {
    throw endOfBackfill(error);
  }
}

/** If the feed's query names dates, a backfill stays within them. */
function withinQuery({ parameters, query }: Feed, days: Days): Days {
  for (const name of [parameters.dateFrom, parameters.dateTo]) {
    const bound = query[name ?? ''];
    if (bound !== undefined && !isDate(bound))
      throw new HighwaterError(
        'COMMAND_REFUSED',
        `${name} of the feed's query is ${bound}, which is not a date such as 2026-01-31`,
      );
  }
  const from = query[parameters.dateFrom ?? ''];
  const to = query[parameters.dateTo ?? ''];
  return {
    first: from !== undefined && isDate(from) ? Math.max(days.first, dayOf(from)) : days.first,
    last: to !== undefined && isDate(to) ? Math.min(days.last, dayOf(to)) : days.last,
  };
}

async function* byUpdated(
  { next_second, from, to }: BackfillProgress,
  known: Paging,
  deps: RoundDeps,
  signal: AbortSignal,
): AsyncGenerator<BackfillPage> {
  const { feed } = deps;
  const firstSecond = Math.max(0, firstSecondOf(dayOf(from)));
  const lastSecond = lastSecondOf(dayOf(to));
  const keys = rowKeys(feed);

  /** @returns false if the server turned out to give no order. Then the second that was reached proves nothing */
  async function* readFrom(highWaterMark: number, paging: Paging): AsyncGenerator<BackfillPage, boolean> {
    const start = { highWaterMark, snapshot: false, wide: true, overlapSeconds: 0, paging };
    for await (const page of scan(feed, start, deps, signal)) {
      const { progress } = page;
      const isProven = !paging.ordered || progress.paging.ordered || highWaterMark <= firstSecond;
      const rows = page.rows.filter((row) => {
        const updated = keys.updated(row);
        return updated === null || (updated >= firstSecond && updated < lastSecond + 1);
      });
      yield {
        page: { ...page, rows, progress: { ...progress, complete: false } },
        moved: { next_second: isProven ? progress.highWaterMark : firstSecond },
      };
      // Every row below the mark has been seen.
      if (progress.highWaterMark > lastSecond) return true;
      if (!isProven) return false;
    }
    return true;
  }

  try {
    const isProven = yield* readFrom(known.ordered ? next_second! : firstSecond, known);
    if (!isProven) yield* readFrom(firstSecond, { ...known, ordered: false });
  } catch (error) {
    throw endOfBackfill(error);
  }
}

/** Polls publish the rows from the mark on. */
function withoutRowsOfPolls(page: ScanPage, feed: Feed, offset: SourceOffset): ScanPage {
  const { high_water_mark, begins_at } = offset;
  // Polls of a feed without a snapshot publish nothing from before its beginning.
  const readByPolls = Math.max(high_water_mark - feed.overlapSeconds, begins_at);
  const keys = rowKeys(feed);
  const rows = page.rows.filter((row) => {
    const updated = keys.updated(row);
    return updated === null || updated < readByPolls;
  });
  return { ...page, rows };
}

function pageWithoutRows(paging: Paging, highWaterMark: number, other: Partial<ScanProgress> = {}): ScanPage {
  const usual = { shownBelow: 0, duringSnapshot: false, complete: false, settled: true };
  return {
    rows: [],
    observedAtMs: Date.now(),
    progress: { ...usual, highWaterMark, paging, ...other },
    reread: async () => [],
  };
}

/** If old rows cannot be read, only the backfill ends, not the polls. */
function endOfBackfill(error: unknown): unknown {
  if (!(error instanceof HighwaterError) || !error.code.startsWith('SCAN_')) return error;
  return new HighwaterError(error.code, error.message, {
    now: 'The backfill stops there and does not claim to be complete. The records read so far are published, and polls of the feed continue.',
    remedy: error.remedy,
    cause: error,
  });
}
