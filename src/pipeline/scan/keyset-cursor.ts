import type { PageFacts } from './pages/page-facts';
import { LEAST_EVIDENCE } from './pages/paging';

/**
 * Where an ordered scan stands: all rows below `anchor` have been read, and the next request asks for `updated >= anchor`.
 * Paging within one anchor is left to `page-walk.ts`. Times are Unix seconds.
 */
export interface KeysetCursor {
  readonly anchor: number;
  /** Rows have been seen at or after the anchor: an empty answer is odd and asked for again. */
  readonly expectsRows: boolean;
  /** Counts the leaps over moving rows. Above 0, the scan has passed its pin and only looks for rows dated ahead. */
  readonly leaps: number;
}

export interface PageContext {
  /** A page shorter than this is the last one; null when a short page proves nothing. */
  readonly fullPage: number | null;
  /** The end that this scan wants to reach, and the present when this page was answered: see `present.ts`. */
  readonly pin: number;
  readonly now: number;
}

export type Step =
  | { readonly kind: 'end' }
  /** Ask again from a later anchor. */
  | { readonly kind: 'anchor'; readonly cursor: KeysetCursor }
  /** The page lies within one second: that second may be wider than a page, or the order is not ascending after all. */
  | { readonly kind: 'wide-second'; readonly second: number };

/** On a server where rows move to now faster than they are read, a scan for rows dated ahead would never end. */
const MOST_LEAPS = 3;

/**
 * The second from which the next page is asked for, so that it shows that the page's last rows are where they belong. A row that was
 * updated in a list that is not in order looks like the end of a page in order. Asking from its second would skip all older rows behind
 * it. So a few rows behind a wide gap are read again, together with the rows that follow them.
 *
 * @param inner other pages are wanted than before: the next one begins within this one
 * @returns null if the page does not have such a second: the page behind it has to show the order
 */
export function jointOf({ length, updated }: PageFacts, anchor: number, inner: boolean): number | null {
  const seconds = updated.filter((second) => second !== null);
  const last = seconds.at(-1)!;
  if (inner) {
    const second = seconds[Math.floor((seconds.length * 2) / 3)]!;
    return second > anchor && second < last ? second : null;
  }
  let gap = 0;
  for (let i = 1; i < seconds.length; i++)
    if (seconds[i]! - seconds[i - 1]! > (gap === 0 ? 0 : seconds[gap]! - seconds[gap - 1]!)) gap = i;
  const before = seconds[gap - 1] ?? last;
  const isWide = 2 * (seconds[gap]! - before) > last - seconds[0]!;
  if (!isWide || seconds.length - gap >= LEAST_EVIDENCE || length === 0) return last;
  return before > anchor ? before : null;
}

/**
 * Leaps over rows that move. Each leap goes further: if rows move in every second, the next page is full of them again. Rows dated in
 * between come with later polls.
 * @returns null after the last leap
 */
export function leapOver({ leaps }: KeysetCursor, now: number): KeysetCursor | null {
  if (leaps >= MOST_LEAPS) return null;
  return { anchor: now + 10 ** leaps, expectsRows: false, leaps: leaps + 1 };
}

/** Decides how an ordered scan goes on after a page that was not empty. */
export function nextStep(cursor: KeysetCursor, page: PageFacts, context: PageContext): Step {
  // Before re-anchoring: an idle poll is one request.
  if (context.fullPage !== null && page.length < context.fullPage) return { kind: 'end' };
  const last = page.last ?? cursor.anchor;
  const { pin, now } = context;
  if (last > pin && last <= now) {
    // All rows that the server held at the pin have been read. Rows that moved meanwhile are left to the next poll, which starts
    // below them. But rows dated ahead would stay behind the moving rows for ever.
    const leapt = leapOver(cursor, now);
    return leapt === null ? { kind: 'end' } : { kind: 'anchor', cursor: leapt };
  }
  // A page of one second shows no order. If rows came newest first, re-anchoring at it would skip all older rows. And a page that does
  // not pass the anchor leads nowhere: a filter with a lag shows rows in front of it.
  if (page.least === last || page.last === null || last <= cursor.anchor)
    return { kind: 'wide-second', second: Math.max(last, cursor.anchor) };
  return { kind: 'anchor', cursor: { ...cursor, anchor: last, expectsRows: true } };
}
