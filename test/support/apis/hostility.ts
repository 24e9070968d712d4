/**
 * Faults with which an API can meet its reader. Everything is off by default. A number called "each" of n means every n-th request
 * that can be hit, so that a run with the same seed and the same requests is hit at the same places.
 */
export interface Hostility {
  /** Each n-th request: 500. */
  readonly eachFails: number;
  /** Each n-th request: 429 with `Retry-After: 1`. */
  readonly eachTooMany: number;
  /** Each n-th answer ends in the middle of its body. */
  readonly eachCut: number;
  /** Each answer comes this much later. */
  readonly slowMs: number;
  /** Each page begins with so many rows of the page before. */
  readonly repeatedRows: number;
  /** Each n-th page that is followed by others shows no rows and says how to go on. Only by cursor and by link. */
  readonly eachEmpty: number;
  /** Each n-th request with a cursor or by a link is refused as expired. */
  readonly eachExpired: number;
  /** Each n-th page that was asked for by a cursor or a link names itself as the next. */
  readonly eachRepeated: number;
  /** The last page has a cursor too; behind it come empty pages with the same cursor. */
  readonly endlessCursor: boolean;
  /** Rows come in an order of no meaning, the same each time. */
  readonly unsorted: boolean;
  /** A write is shown this much after its time stamp. */
  readonly lateMs: number;
  /** Share of the writes that remove a row. */
  readonly removals: number;
  /** Share of the writes that change a row and leave its time stamp as it is. */
  readonly silentChanges: number;
  /** Longest page, for any requested size; 0: the API's own limit. */
  readonly pageCap: number;
  /** The filter by time is accepted and ignored. */
  readonly ignoresFilter: boolean;
  /** The filter by time leaves out the rows of that very time. */
  readonly exclusiveFilter: boolean;
}

export const friendly: Hostility = {
  eachFails: 0,
  eachTooMany: 0,
  eachCut: 0,
  slowMs: 0,
  repeatedRows: 0,
  eachEmpty: 0,
  eachExpired: 0,
  eachRepeated: 0,
  endlessCursor: false,
  unsorted: false,
  lateMs: 0,
  removals: 0,
  silentChanges: 0,
  pageCap: 0,
  ignoresFilter: false,
  exclusiveFilter: false,
};

/** Faults that pass. The others are part of the API, from its first answer to its last. */
export const passing = {
  eachFails: 0,
  eachTooMany: 0,
  eachCut: 0,
  slowMs: 0,
  eachEmpty: 0,
  eachExpired: 0,
  eachRepeated: 0,
} as const satisfies Partial<Hostility>;

export type Each = Extract<keyof Hostility, `each${string}`>;
