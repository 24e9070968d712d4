import type { ErrorCode } from '../errors';

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
