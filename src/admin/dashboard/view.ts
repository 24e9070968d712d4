import type { DeliveryStatus } from '../../delivery/status';
import type { FeedStatus } from '../../feed-status/feed-status';
import type { BadgeTone } from '../../feeds/definition';
import type { Op, Origin } from '../../types';

/**
 * The server-sent events of `GET /events`; the data of each is JSON of the type named here. Both sides are compiled
 * against this file. Texts may come from the vendor: the page shows them as text, never as markup.
 *
 * | event | data | when |
 * |---|---|---|
 * | `publisher` | `PublisherView` | first of each connection |
 * | `feeds` | `FeedView[]`, all feeds | at the connection, then every second |
 * | `deliveries` | `DeliveryView[]`, all deliveries | with `feeds` |
 * | `changes` | `ChangesView` | at the connection the last ones there are, then as they are committed |
 *
 * The id of a `changes` event names the last change in it. A client that connects again with `Last-Event-ID` gets the
 * changes after it. If the server was restarted or no longer has that change, the client gets the latest changes, with
 * `fresh`.
 */
export interface PublisherView {
  /** Name of the instance, as `status` shows it as owner. */
  readonly instance: string;
  readonly version: string;
  /** Where it writes: a folder, or brokers. For people. */
  readonly log: string;
  readonly logKind: 'embedded' | 'kafka';
  /** Address of the API, without its token. */
  readonly api: string;
  readonly startedAtMs: number;
  /** The server's clock: the page counts from it, not from its own. */
  readonly nowMs: number;
}

export type DeliveryView = DeliveryStatus;

/** How a feed stands, without the texts of its errors, which may hold a secret. */
export interface FeedView extends Omit<FeedStatus, 'last_error' | 'problems'> {
  /** Something a person has to fix now; null: nothing. */
  readonly problem: ProblemView | null;
  readonly isOwn: boolean;
  /** Change events committed in each of the last 60 minutes, the one under way last; without the records that a snapshot reads. */
  readonly changesPerMinute: readonly number[];
  readonly requests: {
    /** Requests of this feed in the last 60 seconds. */
    readonly lastMinute: number;
    /** Requests of all feeds that the settings allow in a minute. */
    readonly allowedPerMinute: number;
    readonly retriesLastMinute: number;
  };
  /** Newest first, at most 5 kinds, since the process began. */
  readonly errors: readonly ErrorView[];
  /** Members of records that the schema does not have so. */
  readonly driftedPaths: number;
  /** The first of them, for people; empty when there are none. */
  readonly drift: string;
}

/** Explanation and remedy from the table of error codes. */
export interface ProblemView {
  readonly code: string;
  /** `bad`: the feed stands still until somebody acts. */
  readonly severity: 'bad' | 'warning';
  /** Why, in one short sentence; `what` for a problem that has no code of an error. */
  readonly cause: string;
  readonly what: string;
  readonly remedy: string;
  /** Page about it, from the root of the repository: `docs/runbook/feed-parked.md`. */
  readonly see: string | null;
  /** Since when, and when it is tried again, ms; null: not known. */
  readonly sinceMs: number | null;
  readonly retryAtMs: number | null;
}

export interface ErrorView {
  readonly code: string;
  readonly what: string;
  readonly times: number;
  readonly lastAtMs: number;
  /** No poll has succeeded since. */
  readonly lasts: boolean;
}

export interface ChangesView {
  /** The page forgets those it has. */
  readonly fresh: boolean;
  /** Oldest first. */
  readonly changes: readonly ChangeView[];
  /** Number of changes that were committed but not sent, because there were too many at once. */
  readonly left: number;
}

export interface ChangeView {
  /** Unique, and growing within one run of the server. */
  readonly n: number;
  readonly feed: string;
  readonly key: string;
  readonly op: Op;
  readonly origin: Origin;
  readonly symbol: string | null;
  /** Title of the record, for people: a firm, an analyst, a company. */
  readonly title: string;
  /** When highwater saw it, ms. */
  readonly observedAtMs: number;
  /** The vendor's `updated`, Unix seconds. */
  readonly updated: number;
  readonly seq: number;
  /** The telling ones first, at most 20: of `u` what changed, of others the facts that name the record. */
  readonly fields: readonly FieldView[];
  readonly moreFields: number;
  readonly transitions: readonly TransitionView[];
}

export interface FieldView {
  /** Dotted Avro name. */
  readonly field: string;
  /** As text, cut at 200 characters; null: there was none. */
  readonly before: string | null;
  readonly after: string | null;
}

export interface TransitionView {
  /** `DealStatusChanged`, `RatingChanged`, … */
  readonly type: string;
  /** A shape, so that colour is never the only sign. */
  readonly mark: string;
  readonly tone: BadgeTone;
  readonly before: string | null;
  readonly after: string | null;
}
