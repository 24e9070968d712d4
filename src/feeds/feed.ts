import type { FeedDefinition } from './definition';

export type SnapshotMode = 'initial' | 'never';

/** A feed as it runs: its definition, overridden by the configuration, and how often and how far back it is read. */
export interface Feed extends FeedDefinition {
  readonly pollIntervalMs: number;
  /** Each poll reads from this many seconds before the high-water mark: rows become visible late. */
  readonly overlapSeconds: number;
  /** A wide poll, every `widePollEveryMs`, reads from this many seconds before the mark. */
  readonly wideOverlapSeconds: number;
  readonly widePollEveryMs: number;
  /** Time from the end of one reconcile to the next; null: only by command. */
  readonly reconcileEveryMs: number | null;
  /** 0 to 1. If a larger part of the records is gone, a reconcile deletes nothing and asks. */
  readonly deleteShare: number;
  /** Whether a feed without state begins with all records as reads, or only with later changes. */
  readonly snapshotMode: SnapshotMode;
}
