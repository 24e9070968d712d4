/**
 * The values that the stages of the pipeline and the state exchange. `poll.ts` shows which stage makes them.
 */

import type { WholeText } from './json/unreadable-row';

/** A record. Its id and time are beside its values, so that the vendor's names cannot collide with them. */
export interface VendorRecord {
  /** Key of everything that is published about the record. */
  readonly id: string;
  /** Unix seconds, with a fraction if the feed's time format has one. */
  readonly updated: number;
  readonly values: RecordValues;
  /** The image in wire format, if the record was encoded when its row was read. */
  readonly image?: Buffer;
  /** The ticker symbol; null if there is none, undefined if it has to be read from the values. */
  readonly symbol?: string | null | undefined;
}

/** A record in the form of its Avro schema: vendor names mapped, unknowns null, and values that do not fit in `extra`. */
export interface RecordValues {
  readonly extra: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** A row that cannot be published and becomes a dead letter. */
export interface Rejected {
  readonly reason: string;
  /** The row as JSON text. */
  readonly raw: string;
  /** Set if only the beginning of the row was kept. */
  readonly whole?: WholeText;
  /** Set if the row is a record, but too large for the log. */
  readonly id?: string;
}

/** A rejected row with the hash of its content, by which it is kept only once. Its text may be cut. */
export interface DeadLetter extends Rejected {
  /** Hash of the whole text, hexadecimal. */
  readonly sha256: string;
  /** Length of the whole text in UTF-8. */
  readonly bytes: number;
}

/** One page of a scan, as the server gave it, and the feed's position once the page is committed. */
export interface ScanPage {
  readonly rows: readonly unknown[];
  /** Own clock when the answer had arrived, Unix ms: the time of observation. */
  readonly observedAtMs: number;
  readonly progress: ScanProgress;
  /** The answer holds no list of rows, and was taken for an empty one. */
  readonly isVague?: boolean;
  /** Asks for the same page once more. */
  reread(): Promise<readonly unknown[]>;
}

export type Op = 'c' | 'u' | 'd' | 'r';
export type Origin = 'poll' | 'snapshot' | 'backfill' | 'reconcile';

/** A difference of one record. Images are in wire format, as in the current topic. */
export interface Change {
  readonly op: Op;
  readonly id: string;
  readonly before: Buffer | null;
  readonly after: Buffer | null;
  readonly beforeRecord: VendorRecord | null;
  readonly afterRecord: VendorRecord | null;
  /** Dotted Avro names; filled on `u` only. */
  readonly changedFields: readonly string[];
}

/** A change that the log would refuse. It was not applied, and has no number. */
export interface TooLarge {
  readonly change: Change;
  /** Size of the largest record of the change, in bytes. */
  readonly bytes: number;
}

/** A record that cannot be compared or written. It was not applied, and has no number. */
export interface Unfit {
  readonly record: VendorRecord;
  readonly reason: string;
}

/** The envelope without its images, with the names of `schemas/envelope.avsc`. */
export interface EventTail {
  readonly op: Op;
  readonly changed_fields: readonly string[];
  readonly source: EventSource;
  readonly ts_ms: number;
  readonly event_id: string;
}

export interface EventSource {
  readonly connector: string;
  readonly version: string;
  readonly name: string;
  readonly feed: string;
  readonly endpoint: string;
  readonly updated: number;
  readonly ts_ms: number;
  readonly snapshot: 'true' | 'false';
  readonly origin: Origin;
  readonly incarnation: string;
  readonly seq: number;
}

/** A change with everything that will be published about it. */
export interface ChangeEvents {
  readonly change: Change;
  readonly tail: EventTail;
  readonly transitions: readonly TransitionEvent[];
  readonly symbol: string | null;
}

export interface TransitionEvent {
  /** Index among the feed's declared transitions. */
  readonly index: number;
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** The feed's position once the page with it is committed. */
export interface ScanProgress {
  /** Unix seconds; may be lower than before. */
  readonly highWaterMark: number;
  /** The page was read during the first snapshot: a record that is seen for the first time is `r`, not `c`. */
  readonly duringSnapshot: boolean;
  /**
   * Unix seconds: all older rows that were asked for were shown. Unlike the mark, this depends only on the rows, not on a clock.
   */
  readonly shownBelow: number;
  /** The scan ends with this page. */
  readonly complete: boolean;
  /** The snapshot has found no row: it is not complete before a later one agrees. */
  readonly isPending?: boolean;
  /** Everything that the server showed has been read, as far as the scan can tell. */
  readonly settled: boolean;
  /** Other rows may be on no page, as often as it is read: rows came again on other pages in each walk, or the answers say so. */
  readonly repeats?: boolean;
  /** Why the feed does not count as read now, for people; left out: it does. */
  readonly shortfall?: string;
  /** Rows moved on as fast as they were read, so the scan has left out the latest seconds. Or they end where a limit of paging may be. */
  readonly leavesOut?: boolean;
  /** A limit of paging may hide rows up to this second. Unix seconds; null: nothing points to one. */
  readonly hiddenThrough?: number | null;
  /** The whole feed was asked for and showed no row, though it had some. */
  readonly isFeedEmpty?: boolean;
  /** The answers do not follow the filter, so they have shown everything that the API shows. */
  readonly isUnfiltered?: boolean;
  /** How old the oldest answer of the scan so far was, since a cache had kept it, ms. */
  readonly agedMs?: number;
  readonly paging: Paging;
}

/** The rows that a scan cannot have shown, up to its latest page. */
export type ScanEnd = Pick<ScanProgress, 'leavesOut' | 'hiddenThrough'>;

/**
 * The server's paging, as far as the feed has learned it. The specification says "page offset, 0 to 100000": it may count pages or
 * records, from 0 or from 1, and the server may give fewer records than were asked for.
 */
export interface Paging {
  /** Null until known. Until then pages are asked for by index from 0, which may repeat rows, but skips none. */
  readonly unit: 'page' | 'record' | null;
  readonly firstPage: number;
  /** Records to ask for. */
  readonly pageSize: number;
  /** Most records that came in one page for this size; null before the first page. A shorter page is the last one. */
  readonly longestPage: number | null;
  /** False once rows came in another order than by `updated`, or older than the second that was asked for. */
  readonly ordered: boolean;
  /** Number of the first page: 1 if the server has no page 0. */
  readonly begin: number;
  /** Most rows of a first page whose answer has named a next page; 0: none has. */
  readonly rowsBeforeNext: number;
  /**
   * Seconds. The filter has to be asked for so many seconds earlier to show the rows of a second: 1 if it leaves that second out, hours
   * if it drops the time zone. `WHOLE_FEED`: it goes by something else than `updated`, so everything is asked for.
   */
  readonly lag: number;
  /** The high-water mark at which the filter showed no row that was known, and no longer lag did either. 0: there is none. */
  readonly lagTestedAt: number;
}

/** A lag that is longer than any feed. */
export const WHOLE_FEED = 2 ** 40;
