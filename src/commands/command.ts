import type { HighwaterError } from '../errors';

/** A request of an operator to the owner of a feed. */
export type Command =
  | { readonly name: 'pause' }
  | { readonly name: 'resume' }
  /** A new incarnation: the images are removed, and a first snapshot begins. */
  | { readonly name: 'reset' }
  /** All records are read and published again: as `r`, or as `u` if they differ. */
  | { readonly name: 'snapshot' }
  | { readonly name: 'reconcile'; readonly dryRun: boolean; readonly allowDeletes: number | null }
  /** Calendar dates, both included. */
  | { readonly name: 'backfill'; readonly from: string; readonly to: string }
  | { readonly name: 'retry-dead-letters' };

/** The outcome: a line for people, and figures for programs. */
export type Outcome =
  | { readonly ok: true; readonly summary: string; readonly facts: Facts }
  | { readonly ok: false; readonly error: HighwaterError };

export type Facts = Readonly<Record<string, string | number | boolean>>;
