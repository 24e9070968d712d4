import { type ErrorCode, HighwaterError } from '../../../errors';
import type { Feed } from '../../../feeds/feed';
import type { PageReader } from './page-reader';
import { withPageSize } from './paging';
import { isCode, REFUSALS, unlessRefused } from './refusals';

/** Rows that only paging can tell apart. */
export interface Window {
  /** Anchor of all requests, Unix seconds. */
  readonly from: number;
  /** The only second that is read; later rows do not count. Null: everything from the anchor on. */
  readonly second: number | null;
  /** Greatest record position that the walk may ask for. */
  readonly reach: number;
  /** Pages begin and end at other rows than usual, if the server lets them. */
  readonly otherBorders?: boolean | undefined;
  /** Each page begins with rows of the page before, since places are times. */
  readonly joins?: boolean;
}

/**
 * - `not-settled`: every walk brought new rows. `repeated`: the server shows the same rows again on other pages, in each walk.
 * - `not-in-order`: a row older than the window's second came behind that second.
 * - `begin-again`: a row has become visible in front of the window's second, or rows came while the end was looked for.
 * - `page-size-changed`: from now on fewer records are asked for, which moves every position.
 */
export type WalkEnd =
  | 'all-read'
  | 'not-settled'
  | 'repeated'
  | 'not-in-order'
  | 'begin-again'
  | 'page-size-changed';

export function beyondReach({ name }: Feed, { from, second, reach }: Window): HighwaterError {
  const what = second !== null ? `second ${second}` : `window from ${from}, which has no order,`;
  return new HighwaterError(
    'SCAN_BEYOND_REACH',
    `The ${what} of feed ${name} holds more records than paging reaches (${reach}).`,
  );
}

const outOfReach: readonly ErrorCode[] = ['SCAN_BEYOND_REACH', 'SCAN_PAGING_IGNORED', 'SCAN_PAGES_EMPTY'];

/** Errors of a window whose rows paging does not show: a smaller one, or a later one, may be read. */
export function isOutOfReach(error: unknown): error is HighwaterError {
  return isCode(error, outOfReach);
}

/** As `isOutOfReach`, for pages behind a first one: an API that refuses these pages has a limit that nobody declared. */
export function isBehindReach(error: unknown): error is HighwaterError {
  return isCode(error, [...outOfReach, ...REFUSALS]);
}

export function pagingIgnored(
  { name }: Feed,
  { from }: Window,
  pages: number,
  records: number,
): HighwaterError {
  return new HighwaterError(
    'SCAN_PAGING_IGNORED',
    `Feed ${name}: ${pages} pages from ${from} on show the same ${records} records again and again ` +
      'and come to no end, so the server ignores paging; what does not fit into one page cannot be read.',
  );
}

/**
 * Asks for pages of another size from now on, unless the API refuses the first page of that size, or gives a longer one: some know only a
 * few sizes.
 * @returns whether pages have the other size. Also after an error they have the size from before
 */
export async function tryPageSize(reader: PageReader, size: number, from: number): Promise<boolean> {
  const { pageSize, longestPage } = reader.paging();
  reader.setPaging(withPageSize(reader.paging(), size));
  let isTaken = false;
  try {
    const first = await unlessRefused(reader.read(from, 0, 0));
    isTaken = first !== null && (first === 'page-size-changed' || first.facts.length <= size);
  } finally {
    if (!isTaken) reader.setPaging({ ...reader.paging(), pageSize, longestPage });
  }
  return isTaken;
}
