import type { FeedDefinition } from '../feeds/definition';

/** The vendor's API as the scan sees it: one GET is one page. */
export interface Source {
  /**
   * Retries what is worth retrying within the request budget, then gives up.
   * @throws HighwaterError SOURCE_* (see errors.ts): nothing was read
   */
  fetchPage(feed: FeedDefinition, request: PageRequest, signal: AbortSignal): Promise<SourcePage>;
}

export interface PageRequest {
  /** Unix seconds, inclusive. */
  readonly updatedSince: number;
  /** Value of the paging parameter, as the server wants it: an index or a record offset. */
  readonly pageOffset: number;
  readonly pageSize: number;
  /** Calendar dates (2026-01-31), both included, in the place of those that the feed's query may name. */
  readonly dates?: DateRange;
}

export interface DateRange {
  readonly from: string;
  readonly to: string;
}

export interface SourcePage {
  /** The records as parsed JSON, in the server's order, not yet looked at. */
  readonly rows: readonly unknown[];
  /** The answer's `Date` header in ms; null when absent or unreadable. */
  readonly serverDateMs: number | null;
  /** Own clock when the answer had arrived, ms. */
  readonly receivedAtMs: number;
}
