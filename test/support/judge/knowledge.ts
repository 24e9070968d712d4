/** Facts about a run for the judge, by feed if feeds differ. */
export interface Knowledge {
  /** How often a later snapshot was asked for: so often at most is a live record read once more. Default: never. */
  readonly snapshots?: Readonly<Record<string, number>>;
  /** So long at least a record must have been gone when it is deleted: the interval of the polls, ms. Default 0. */
  readonly goneForMs?: number;
  /** Overlap of each poll. A reconcile finds rows that appeared with an older `updated`. Seconds, default 5. */
  readonly overlapSeconds?: number;
  /** How long before its end a reconcile may have passed over a record, ms. Default 0: nothing moved while it ran. */
  readonly reconcileMs?: number;
}
