import type { ErrorCode, HighwaterError } from '../errors';
import type { FeedDefinition } from '../feeds/definition';
import type { Body } from './body';

/** The vendor's API as the scan sees it: one GET is one page. */
export interface Source {
  /**
   * Retries errors that may pass, within the request budget, then gives up.
   * @throws HighwaterError SOURCE_* (see errors.ts): nothing was read
   */
  fetchPage(feed: FeedDefinition, request: PageRequest, signal: AbortSignal): Promise<SourcePage>;
}

export interface PageRequest {
  /** Unix seconds, inclusive; a fraction is sent as far as the feed's time format has one. */
  readonly updatedSince: number;
  /** The end of the range, Unix seconds, inclusive. Sent when the feed has a parameter for it. */
  readonly updatedUntil?: number;
  /** Value of the paging parameter, as the server wants it: an index or a record offset. */
  readonly pageOffset: number;
  /** `next` of the page before, in the place of `pageOffset`. */
  readonly continuation?: string;
  readonly pageSize: number;
  /** Calendar dates (2026-01-31), both included; they replace the dates that the feed's query may name. */
  readonly dates?: DateRange;
  /** A 404 is expected, and not tried again. */
  readonly mayBeMissing?: boolean;
  /** Reads the rows of a body. Without it, or if it returns null, the body is parsed as JSON. */
  readonly readRows?: RowReader;
}

/**
 * The rows of an answer's body in the server's order, in a form that the decoder takes; null for a body that it cannot read.
 * @param mayRead called first with the whole body; if it returns false, the result is null
 * @param mostRows for a body with more rows, the result is null
 */
export type RowReader = (
  body: Body,
  mayRead: (text: Buffer) => boolean,
  mostRows: number,
) => readonly unknown[] | null;

/** The same source, with a reader of rows. */
export function sourceReading(source: Source, readRows: RowReader | null): Source {
  if (readRows === null) return source;
  return { fetchPage: (feed, request, signal) => source.fetchPage(feed, { ...request, readRows }, signal) };
}

/**
 * The same source, for a proof that needs answers from now on.
 * @param onAged called for each answer that a cache has kept since before this call
 */
export function sourceFromNow(source: Source, onAged: () => void): Source {
  const began = performance.now();
  return sourceHeard(source, ({ agedMs = 0 }) => {
    if (agedMs > performance.now() - began) onAged();
  });
}

/** The same source. @param onPage called for each answer, before it is returned */
export function sourceHeard(source: Source, onPage: (page: SourcePage) => void): Source {
  return {
    async fetchPage(...request) {
      const page = await source.fetchPage(...request);
      onPage(page);
      return page;
    },
  };
}

/** What is known of an API that answers only ranges of time. */
interface RangeFacts {
  /** It refuses ranges that end in the future. */
  readonly refusesFuture: boolean;
  /** How far its clock is ahead of the own one, as its last answer showed, ms. */
  readonly aheadMs: number;
  /** The present of the API's clock when the range was begun, Unix seconds. */
  readonly begunAt: number;
}

const rangeFacts = new WeakMap<FeedDefinition, RangeFacts>();

/** The same source. If the API refuses a range that ends in the future, it is asked for the range up to the present. */
export function sourceUpToPresent(source: Source): Source {
  return {
    async fetchPage(feed, request, signal) {
      const known = rangeFacts.get(feed) ?? { refusesFuture: false, aheadMs: 0, begunAt: 0 };
      const { updatedSince, updatedUntil = 0, continuation } = request;
      const now = Math.floor((Date.now() + known.aheadMs) / 1_000);
      // A cursor may be good only for the range that it came with.
      const present = continuation === undefined ? now : known.begunAt;
      const mayCut = updatedUntil > now && updatedSince < present;
      const cut = () => source.fetchPage(feed, { ...request, updatedUntil: present }, signal);
      let isCut = mayCut && known.refusesFuture;
      const page = await (isCut ? cut() : source.fetchPage(feed, request, signal)).catch((error) => {
        if (isCut || !mayCut || (error as HighwaterError).code !== 'SOURCE_REQUEST_REFUSED') throw error;
        isCut = true;
        return cut();
      });
      const { serverDateMs, receivedAtMs } = page;
      rangeFacts.set(feed, {
        refusesFuture: isCut || known.refusesFuture,
        aheadMs: serverDateMs === null ? 0 : serverDateMs - receivedAtMs,
        begunAt: present,
      });
      return page;
    },
  };
}

export interface DateRange {
  readonly from: string;
  readonly to: string;
}

export interface SourcePage {
  /** The rows as parsed JSON, or as `readRows` returned them, in the server's order. They lack the members of the feed's `omit`. */
  readonly rows: readonly unknown[];
  /** The paths of the feed's `omit` that led to a member of a row, as far as the rows were parsed. */
  readonly omitted?: ReadonlySet<string>;
  /** The cursor or the address of the next page, from the answer; null: none. */
  readonly next: string | null;
  /** What the answer says at `paging.hasMore` of a counted style: true: no page follows; false: one does. Absent: nothing. */
  readonly isLast?: boolean;
  /** The number of all rows of the query, from `paging.total`; null or absent: the answer has none. */
  readonly total?: number | null;
  /** An answer that names no next page says that one follows, at the member with this path, or by the header `Link`. */
  readonly moreBy?: string;
  /** An answer that names no next page says that none follows: by `null` where it would be named, a flag, or a `Link` to the page before. */
  readonly isEndSaid?: boolean;
  /** The answer says that it has left out rows, at the member with this path. */
  readonly partialBy?: string;
  /** The answer holds no list of rows, such as `{}`, and was taken for an empty one. */
  readonly isVague?: boolean;
  /** The answer's `Date` header in ms; null if absent or unreadable. */
  readonly serverDateMs: number | null;
  /** How old the answer is, if it came from a cache, ms; absent or 0: nothing shows an age. */
  readonly agedMs?: number;
  /** Own clock when the answer had arrived, ms. */
  readonly receivedAtMs: number;
}

/** Reports of the API's client about its requests. */
export type SourceEvent =
  | {
      readonly kind: 'requested';
      readonly feed: string;
      /** Status of the answer; null: there was no answer. */
      readonly status: number | null;
      readonly seconds: number;
    }
  /** A page is asked for again. */
  | { readonly kind: 'retried'; readonly feed: string; readonly reason: ErrorCode };

export interface SourceFailure {
  readonly kind: 'failure';
  readonly code: ErrorCode;
  /** Message with the values, without secrets. */
  readonly what: string;
  /** How long the API asks to wait, ms; absent if it does not say. */
  readonly retryAfterMs?: number;
}

export function failure(code: ErrorCode, what: string): SourceFailure {
  return { kind: 'failure', code, what };
}
