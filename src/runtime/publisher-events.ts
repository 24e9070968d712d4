import type { ErrorCode } from '../errors';
import type { PublishedChanges } from '../pipeline/changes/page-changes';
import type { PageReport, PollResult } from '../pipeline/poll';
import type { Drift } from '../pipeline/records/drift';
import type { SourceEvent } from '../source/source';
import type { FeedState } from '../state/feed-state';

/** Events of a publisher's work, for metrics and health. Times are in seconds. */
export type PublisherEvent = SourceEvent | ({ readonly feed: string } & FeedEvent);

type FeedEvent =
  /** The feed is not this instance's yet, or not any more. */
  | { readonly kind: 'waiting' }
  /** It is being acquired, and its state read back; told again now and then while that lasts. */
  | { readonly kind: 'restoring' }
  | { readonly kind: 'acquired'; readonly state: FeedState; readonly drift: Omit<Drift, 'first'> }
  | { readonly kind: 'released' }
  /** A page is committed, or needed no commit. */
  | { readonly kind: 'page'; readonly report: PageReport }
  /** Changes are committed that no page brought: the deletes of a reconcile, dead letters that are records now. */
  | {
      readonly kind: 'otherChanges';
      readonly changes: PublishedChanges;
      /** ms */
      readonly observedAtMs: number;
    }
  /** A record came with nothing new but its `updated`. */
  | { readonly kind: 'touched' }
  | { readonly kind: 'polled'; readonly result: PollResult; readonly seconds: number }
  /** The loop does nothing on purpose: an operator has paused the feed. */
  | { readonly kind: 'rested' }
  | {
      readonly kind: 'failed';
      readonly code: ErrorCode;
      readonly parks: boolean;
      /** Message for people, without secrets. */
      readonly what: string;
      /** Until the next try, in ms; null: at once, or none. */
      readonly retryInMs: number | null;
    }
  | {
      readonly kind: 'transaction';
      /** Null: committed. */
      readonly failure: ErrorCode | null;
      readonly seconds: number;
    };

/** Must not throw. */
export type Tell = (event: PublisherEvent) => void;
