import type { ErrorCode } from '../errors';
import type { FeedDefinition } from '../feeds/definition';
import type { Body } from './body';

/** The vendor's API as the scan sees it: one GET is one page. */
export interface Source {
  /**
   * Retries what is worth retrying within the request budget, then gives up.
   * @throws HighwaterError SOURCE_* (see errors.ts): nothing was read
   */
  fetchPage(feed: FeedDefinition, request: PageRequest, signal: AbortSignal): Promise<SourcePage>;
}

export interface PageRequest {
  /** Unix seconds, inclusive; a fraction is sent as far as the feed's time format has one. */
  readonly updatedSince: number;
  /** Value of the paging parameter, as the server wants it: an index or a record offset. */
  readonly pageOffset: number;
  /** `next` of the page before, in the place of `pageOffset`. */
  readonly continuation?: string;
  readonly pageSize: number;
  /** Calendar dates (2026-01-31), both included, in the place of those that the feed's query may name. */
  readonly dates?: DateRange;
  /** Asked first for the rows of a body; without it, and where it knows none, the body is parsed as JSON. */
  readonly readRows?: RowReader;
}

/**
 * The rows of an answer's body in the server's order, in whatever form the decoder takes them; null for a body that it cannot read.
 * @param mayRead is asked first, about the body as one: where it says no, the answer is null
 * @param mostRows a body of more is left to others
 */
export type RowReader = (
  body: Body,
  mayRead: (text: Buffer) => boolean,
  mostRows: number,
) => readonly unknown[] | null;

/** The same source, whose pages are read so. */
export function sourceReading(source: Source, readRows: RowReader | null): Source {
  if (readRows === null) return source;
  return { fetchPage: (feed, request, signal) => source.fetchPage(feed, { ...request, readRows }, signal) };
}

export interface DateRange {
  readonly from: string;
  readonly to: string;
}

export interface SourcePage {
  /** The records as parsed JSON, or as `readRows` has read them, in the server's order, not yet looked at. */
  readonly rows: readonly unknown[];
  /** The cursor or the address by which the answer says that the next page is asked for; null: none. */
  readonly next: string | null;
  /** The answer's `Date` header in ms; null when absent or unreadable. */
  readonly serverDateMs: number | null;
  /** Own clock when the answer had arrived, ms. */
  readonly receivedAtMs: number;
}

/** What the client of the API tells of its requests. */
export type SourceEvent =
  | {
      readonly kind: 'requested';
      readonly feed: string;
      /** Of the answer; null: there was none. */
      readonly status: number | null;
      readonly seconds: number;
    }
  /** A page is asked for again. */
  | { readonly kind: 'retried'; readonly feed: string; readonly reason: ErrorCode };

export interface SourceFailure {
  readonly kind: 'failure';
  readonly code: ErrorCode;
  /** What happened, with the values, secrets already removed. */
  readonly what: string;
  /** How long the API asks to wait, ms; absent when it does not say. */
  readonly retryAfterMs?: number;
}

export function failure(code: ErrorCode, what: string): SourceFailure {
  return { kind: 'failure', code, what };
}
