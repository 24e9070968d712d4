import type { FeedDefinition } from '../../src/feeds/definition';
import { hasUsualKeys, rowKeys } from '../../src/feeds/row-keys';
import type { PageRequest, Source } from '../../src/source/source';

type Row = Record<string, unknown>;

/** The vendor's present, ms. All rows lie before it. */
export const VENDOR_NOW_MS = 1_790_000_000_000;

/**
 * A vendor behind the port of the source: well-behaved pages of the rows it is given, each as late as it is told. Rows are
 * shown by `updated`, several versions of one id among them, as if they had moved while they were read.
 */
export interface ScriptedVendor extends Source {
  /** Rows as JSON gives them: `null`, too, is one. */
  rows: readonly (Row | null)[];
  /** The requests so far. */
  readonly requests: readonly PageRequest[];
  /** Called with the number of a request, from 1. It can wait, or throw. */
  beforeAnswer(request: number, signal: AbortSignal): void | Promise<void>;
}

/** Rows of the usual shape without a number there are always shown. */
function updatedOf(feed: FeedDefinition, row: Row | null): number | null {
  if (!hasUsualKeys(feed)) return rowKeys(feed).updated(row);
  return typeof row?.updated === 'number' ? row.updated : null;
}

export function scriptedVendor(): ScriptedVendor {
  const requests: PageRequest[] = [];
  const vendor: ScriptedVendor = {
    rows: [],
    requests,
    beforeAnswer() {},
    async fetchPage(feed, request, signal) {
      const { updatedSince, pageOffset, pageSize } = request;
      requests.push(request);
      await vendor.beforeAnswer(requests.length, signal);
      const window = vendor.rows
        .filter((row) => (updatedOf(feed, row) ?? updatedSince) >= updatedSince)
        .slice(pageOffset * pageSize, (pageOffset + 1) * pageSize);
      // A page's time tells it from others, and does not depend on when it was asked for.
      const receivedAtMs = VENDOR_NOW_MS + updatedSince + pageOffset;
      return { rows: window, next: null, serverDateMs: VENDOR_NOW_MS, receivedAtMs };
    },
  };
  return vendor;
}
