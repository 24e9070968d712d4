// Made by `npm run generate` from schemas/ and src/feeds: change those, not this.

import type { LogEvent } from './event';

/** The security that the insight is about. */
export interface Security {
  /** Regulatory registry identifier of the company, in text form. Null when the vendor leaves it out. */
  readonly cik: string | null;
  /** Exchange code, for example NASDAQ. Null when the vendor leaves it out. */
  readonly exchange: string | null;
  /** International securities identification number. Null when the vendor leaves it out. */
  readonly isin: string | null;
  /** Company name. Null when the vendor leaves it out. */
  readonly name: string | null;
  /** Ticker symbol. Null when the vendor leaves it out. */
  readonly symbol: string | null;
}

/**
 * One analyst insight: research and recommendation of a firm's analyst on a security. Specification 2.1, GET
 * /api/v1/analyst/insights.
 */
export interface Insight {
  /** Record identifier. A correction can arrive as a new id with the same rating_id. */
  readonly id: string;
  /**
   * The action taken by the firm, for example Upgrades, Downgrades, Maintains, Initiates Coverage On. Not a
   * closed set. Null when the vendor leaves it out.
   */
  readonly action: string | null;
  /** Identifier of the analyst; the id of the analysts feed. Null when the vendor leaves it out. */
  readonly analyst_id: string | null;
  /**
   * Free-text analysis: a target-price sentence and headed paragraphs. Its language can vary. Null when the
   * vendor leaves it out.
   */
  readonly analyst_insights: string | null;
  /** Calendar date of the insight, YYYY-MM-DD. Null when the vendor leaves it out. */
  readonly date: string | null;
  /** Name of the firm. Null when the vendor leaves it out. */
  readonly firm: string | null;
  /** Identifier of the firm. Null when the vendor leaves it out. */
  readonly firm_id: string | null;
  /**
   * Price target, a decimal number as text, exactly as the vendor writes it (two decimals by the
   * specification, other scales occur). Compared as a number. Null when the vendor leaves it out.
   */
  readonly pt: string | null;
  /**
   * Rating in the words of the firm, for example Buy or Top Pick. Free text. Null when the vendor leaves it
   * out.
   */
  readonly rating: string | null;
  /** Identifier of the rating that the insight explains. Null when the vendor leaves it out. */
  readonly rating_id: string | null;
  /** The security. Null when the vendor leaves it out. */
  readonly security: Security | null;
  /**
   * Unix time in seconds, UTC, of the last update at the vendor. A value in milliseconds is brought to
   * seconds. Not part of changed_fields; a record where only this moved publishes nothing.
   */
  readonly updated: number;
  /**
   * What this schema does not hold, as JSON text under its dotted vendor path: members that the vendor added,
   * and values whose type has drifted (the field itself is then null).
   */
  readonly extra: Readonly<Record<string, string>>;
}

/**
 * A firm's newest call on a symbol differs from the one before in rating or price target (or is its first,
 * previous fields null). Keyed by symbol|firm_id.
 */
export interface RatingChanged {
  /** Id of this event: the causing change's event_id with a suffix. */
  readonly event_id: string;
  /** event_id of the change event that caused it. */
  readonly caused_by: string;
  /** What found the change: poll, snapshot, backfill, reconcile. */
  readonly origin: 'poll' | 'snapshot' | 'backfill' | 'reconcile';
  /** Record id of the insight that is now the newest. */
  readonly id: string;
  /** Rating id of it. */
  readonly rating_id: string | null;
  /** Rating id of the insight it replaces. */
  readonly previous_rating_id: string | null;
  /** True when both rating ids are equal: the vendor corrects a call by a new record. */
  readonly correction: boolean;
  /** Ticker symbol. */
  readonly symbol: string;
  /** Company name. */
  readonly security_name: string | null;
  /** Exchange code. */
  readonly exchange: string | null;
  /** Identifier of the firm. */
  readonly firm_id: string;
  /** Name of the firm. */
  readonly firm: string | null;
  /** Identifier of the analyst. */
  readonly analyst_id: string | null;
  /** Action in the words of the vendor. */
  readonly action: string | null;
  /** Rating before. */
  readonly previous_rating: string | null;
  /** Rating now. */
  readonly rating: string | null;
  /** Price target before, decimal text. */
  readonly previous_pt: string | null;
  /** Price target now, decimal text. */
  readonly pt: string | null;
  /** Date of the insight it replaces. */
  readonly previous_date: string | null;
  /** Date of the insight. */
  readonly date: string | null;
  /** The vendor's updated of the record, Unix seconds. */
  readonly updated: number;
  /** Time of observation, Unix milliseconds. */
  readonly ts_ms: number;
}

/** A backfill that has begun and not reached its end. */
export interface Backfill {
  /** First calendar date, 2026-01-31. */
  readonly from: string;
  /** Last calendar date, included. */
  readonly to: string;
  /** Reading by date: the first one that is not read yet. */
  readonly next_date: string | null;
  /** Reading by updated: Unix seconds up to which all is read. */
  readonly next_second: number | null;
  /** When it began, Unix milliseconds. */
  readonly asked_ms: number;
  /** Time spent on it, without the time in which no owner worked on it. */
  readonly spent_ms: number;
  /** Pages read so far. */
  readonly pages: number;
  /** Rows read so far, repeats among them. */
  readonly rows: number;
}

/** A member that the schema does not have, or not with this type. */
export interface DriftedMember {
  /** Dotted, of the vendor's names; the key in `extra`. */
  readonly path: string;
  /** Of the first value: null, text, number, boolean, list or object. */
  readonly type: string;
  /** The type that the schema has there; null: it does not know the member. */
  readonly expected: string | null;
  /** Changes published with it since its owner's process started. */
  readonly count: number;
}

/**
 * Stored position of one feed, committed in the same transaction as the changes it covers. Key: the feed's
 * name.
 */
export interface SourceOffset {
  /** Name of the feed. */
  readonly feed: string;
  /**
   * Unix seconds: every record version with an updated below it has been seen. Least of the largest updated
   * seen, the server's Date and the own clock.
   */
  readonly high_water_mark: number;
  /** pending, running or complete. */
  readonly snapshot: 'pending' | 'running' | 'complete';
  /** When the snapshot was complete, Unix milliseconds. */
  readonly snapshot_completed_ms: number | null;
  /** Short random id of this life of the feed's state. */
  readonly incarnation: string;
  /** Name of the owning instance, for people. */
  readonly owner: string;
  /** Random id of the ownership that committed this. */
  readonly owner_epoch: string;
  /** Number of the transaction within the incarnation, +1 each. */
  readonly commit: number;
  /** seq of the last change published. */
  readonly seq: number;
  /** Records tracked: live images in the current topic. */
  readonly record_count: number;
  /** Live images in each partition of the current topic; tells a lost or re-partitioned topic. */
  readonly partition_counts: readonly number[];
  /** Fingerprint of what is asked of the API: address, path and filters. */
  readonly scope: string;
  /**
   * seq when the scope last changed. Records whose image is no younger have not been shown under it, and are
   * never deleted.
   */
  readonly scope_seq: number;
  /** When the scope last changed, Unix milliseconds. Dead letters from before are not tried again. */
  readonly scope_since_ms: number;
  /**
   * seq when the latest snapshot began. A record whose image is no younger comes as r when it is shown again.
   */
  readonly snapshot_seq: number;
  /** When a reconcile last reached its end, Unix milliseconds. */
  readonly last_reconcile_ms: number | null;
  /**
   * Unix seconds. A feed that began without a snapshot publishes no record from before this that it does not
   * know, unless a backfill or a snapshot reads it. 0: from the beginning.
   */
  readonly begins_at: number;
  /** Progress of a backfill, null when none runs. */
  readonly backfill: Backfill | null;
  /** Learned: what the paging parameter counts, page or record. */
  readonly page_offset_unit: 'page' | 'record' | null;
  /** Learned: paging value of the first page, 0 or 1. */
  readonly first_page: number | null;
  /** Records asked for in one request when the longest page was learned. */
  readonly page_size: number | null;
  /** Learned: most records that came in one page for that size. */
  readonly longest_page: number | null;
  /**
   * Learned: false once rows came in another order than by updated, or older than asked for. Then all pages
   * are walked.
   */
  readonly ordered: boolean;
  /** Learned: number of the first page, 1 if the server has no page 0. */
  readonly page_begin: number;
  /**
   * Learned: seconds by which the filter has to be asked for earlier, so that it shows the rows of the second
   * that is meant. 1099511627776: the filter is not used.
   */
  readonly filter_lag: number;
  /**
   * The high-water mark at which the filter showed no known row and was tested for a lag; 0 if there is none.
   */
  readonly filter_tested_at: number;
  /** When a snapshot first found no row, Unix milliseconds; null if it found one, or once it is complete. */
  readonly empty_since_ms: number | null;
  /** When a scan last reached its end, Unix milliseconds. */
  readonly last_complete_scan_ms: number | null;
  /**
   * Milliseconds from one poll to the next, as the owner that wrote this is set. The feed is behind when its
   * last complete scan is older than three of them.
   */
  readonly poll_interval_ms: number | null;
  /** Paused by an operator. */
  readonly paused: boolean;
  /** Error code for which the feed is parked. */
  readonly parked: string | null;
  /** Last error in one line, for people. */
  readonly last_error: string | null;
  /**
   * Records that the last reconcile was not shown and kept, since they are more than it deletes unasked. 0:
   * none.
   */
  readonly withheld_deletes: number;
  /** The first ten members that came otherwise than the schema says, since the owner's process started. */
  readonly drift: readonly DriftedMember[];
  /** When this was written, Unix milliseconds. */
  readonly ts_ms: number;
}

/** A record that could not be published, whole. Once per content; key: sha256 of the raw text. */
export interface DeadLetter {
  /** Name of the feed. */
  readonly feed: string;
  /** Why, in one line. */
  readonly reason: string;
  /** The record as JSON text; cut at 64 KB when it was too large to publish. */
  readonly raw: string;
  /** SHA-256 of the whole raw text, hexadecimal. */
  readonly sha256: string;
  /** Length of the whole raw text in UTF-8 bytes. */
  readonly bytes: number;
  /** Time of observation, Unix milliseconds. */
  readonly ts_ms: number;
}

/**
 * Accuracy statistics. Members whose vendor name begins with a digit have one leading underscore here and the
 * vendor name in the attribute vendorName.
 */
export interface RatingsAccuracy {
  /**
   * Average return in percent over the last month; can be negative. A decimal number as text, exactly as the
   * vendor writes it; compared as a number. Null when the vendor leaves it out.
   */
  readonly _1m_average_return: string | null;
  /**
   * Smart score over the last month. A decimal number as text, exactly as the vendor writes it; compared as a
   * number. Null when the vendor leaves it out.
   */
  readonly _1m_smart_score: string | null;
  /**
   * Standard deviation of the returns over the last month. A decimal number as text, exactly as the vendor
   * writes it; compared as a number. Null when the vendor leaves it out.
   */
  readonly _1m_stdev: string | null;
  /**
   * Share of successful ratings in percent over the last month. A decimal number as text, exactly as the
   * vendor writes it; compared as a number. Null when the vendor leaves it out.
   */
  readonly _1m_success_rate: string | null;
  /**
   * Average return in percent over the last 3 months; can be negative. A decimal number as text, exactly as
   * the vendor writes it; compared as a number. Null when the vendor leaves it out.
   */
  readonly _3m_average_return: string | null;
  /**
   * Smart score over the last 3 months. A decimal number as text, exactly as the vendor writes it; compared
   * as a number. Null when the vendor leaves it out.
   */
  readonly _3m_smart_score: string | null;
  /**
   * Standard deviation of the returns over the last 3 months. A decimal number as text, exactly as the vendor
   * writes it; compared as a number. Null when the vendor leaves it out.
   */
  readonly _3m_stdev: string | null;
  /**
   * Share of successful ratings in percent over the last 3 months. A decimal number as text, exactly as the
   * vendor writes it; compared as a number. Null when the vendor leaves it out.
   */
  readonly _3m_success_rate: string | null;
  /**
   * Average return in percent over the last 9 months; can be negative. A decimal number as text, exactly as
   * the vendor writes it; compared as a number. Null when the vendor leaves it out.
   */
  readonly _9m_average_return: string | null;
  /**
   * Number of ratings with a loss over the last 9 months. The vendor leaves a zero count out: null and 0 mean
   * the same and compare as equal.
   */
  readonly _9m_loss_count: number | null;
  /**
   * Smart score over the last 9 months. A decimal number as text, exactly as the vendor writes it; compared
   * as a number. Null when the vendor leaves it out.
   */
  readonly _9m_smart_score: string | null;
  /**
   * Standard deviation of the returns over the last 9 months. A decimal number as text, exactly as the vendor
   * writes it; compared as a number. Null when the vendor leaves it out.
   */
  readonly _9m_stdev: string | null;
  /**
   * Share of successful ratings in percent over the last 9 months. A decimal number as text, exactly as the
   * vendor writes it; compared as a number. Null when the vendor leaves it out.
   */
  readonly _9m_success_rate: string | null;
  /**
   * Average return in percent over the last year; can be negative. A decimal number as text, exactly as the
   * vendor writes it; compared as a number. Null when the vendor leaves it out.
   */
  readonly _1y_average_return: string | null;
  /**
   * Number of ratings with a loss over the last year. The vendor leaves a zero count out: null and 0 mean the
   * same and compare as equal.
   */
  readonly _1y_loss_count: number | null;
  /**
   * Smart score over the last year. A decimal number as text, exactly as the vendor writes it; compared as a
   * number. Null when the vendor leaves it out.
   */
  readonly _1y_smart_score: string | null;
  /**
   * Standard deviation of the returns over the last year. A decimal number as text, exactly as the vendor
   * writes it; compared as a number. Null when the vendor leaves it out.
   */
  readonly _1y_stdev: string | null;
  /**
   * Share of successful ratings in percent over the last year. A decimal number as text, exactly as the
   * vendor writes it; compared as a number. Null when the vendor leaves it out.
   */
  readonly _1y_success_rate: string | null;
  /**
   * Average return in percent over the last 2 years; can be negative. A decimal number as text, exactly as
   * the vendor writes it; compared as a number. Null when the vendor leaves it out.
   */
  readonly _2y_average_return: string | null;
  /**
   * Number of ratings with a loss over the last 2 years. The vendor leaves a zero count out: null and 0 mean
   * the same and compare as equal.
   */
  readonly _2y_loss_count: number | null;
  /**
   * Smart score over the last 2 years. A decimal number as text, exactly as the vendor writes it; compared as
   * a number. Null when the vendor leaves it out.
   */
  readonly _2y_smart_score: string | null;
  /**
   * Standard deviation of the returns over the last 2 years. A decimal number as text, exactly as the vendor
   * writes it; compared as a number. Null when the vendor leaves it out.
   */
  readonly _2y_stdev: string | null;
  /**
   * Share of successful ratings in percent over the last 2 years. A decimal number as text, exactly as the
   * vendor writes it; compared as a number. Null when the vendor leaves it out.
   */
  readonly _2y_success_rate: string | null;
  /**
   * Average return in percent over the last 3 years; can be negative. A decimal number as text, exactly as
   * the vendor writes it; compared as a number. Null when the vendor leaves it out.
   */
  readonly _3y_average_return: string | null;
  /**
   * Number of ratings with a loss over the last 3 years. The vendor leaves a zero count out: null and 0 mean
   * the same and compare as equal.
   */
  readonly _3y_loss_count: number | null;
  /**
   * Smart score over the last 3 years. A decimal number as text, exactly as the vendor writes it; compared as
   * a number. Null when the vendor leaves it out.
   */
  readonly _3y_smart_score: string | null;
  /**
   * Standard deviation of the returns over the last 3 years. A decimal number as text, exactly as the vendor
   * writes it; compared as a number. Null when the vendor leaves it out.
   */
  readonly _3y_stdev: string | null;
  /**
   * Share of successful ratings in percent over the last 3 years. A decimal number as text, exactly as the
   * vendor writes it; compared as a number. Null when the vendor leaves it out.
   */
  readonly _3y_success_rate: string | null;
  /**
   * Average return in percent over the whole history; can be negative. A decimal number as text, exactly as
   * the vendor writes it; compared as a number. Null when the vendor leaves it out.
   */
  readonly overall_average_return: string | null;
  /**
   * Percentile of the average return among all analysts, whole history. A decimal number as text, exactly as
   * the vendor writes it; compared as a number. Null when the vendor leaves it out.
   */
  readonly overall_avg_return_percentile: string | null;
  /**
   * Number of ratings with a loss, whole history. The vendor leaves a zero count out: null and 0 mean the
   * same and compare as equal.
   */
  readonly overall_loss_count: number | null;
  /**
   * Standard deviation of the returns, whole history. A decimal number as text, exactly as the vendor writes
   * it; compared as a number. Null when the vendor leaves it out.
   */
  readonly overall_stdev: string | null;
  /**
   * Share of successful ratings in percent, whole history. A decimal number as text, exactly as the vendor
   * writes it; compared as a number. Null when the vendor leaves it out.
   */
  readonly overall_success_rate: string | null;
  /**
   * Overall smart score. A decimal number as text, exactly as the vendor writes it; compared as a number.
   * Null when the vendor leaves it out.
   */
  readonly smart_score: string | null;
  /** Number of ratings. The vendor leaves a zero count out: null and 0 mean the same and compare as equal. */
  readonly total_ratings: number | null;
  /**
   * Percentile of the rating count among all analysts. A decimal number as text, exactly as the vendor writes
   * it; compared as a number. Null when the vendor leaves it out.
   */
  readonly total_ratings_percentile: string | null;
}

/**
 * One analyst who issues ratings, with accuracy statistics. Specification 2.2, GET
 * /api/v2.1/calendar/ratings/analysts.
 */
export interface Analyst {
  /** Analyst identifier. */
  readonly id: string;
  /** Identifier of the analyst's firm. Null when the vendor leaves it out. */
  readonly firm_id: string | null;
  /** Name of the firm. Null when the vendor leaves it out. */
  readonly firm_name: string | null;
  /** First name. Null when the vendor leaves it out. */
  readonly name_first: string | null;
  /** Last name. Null when the vendor leaves it out. */
  readonly name_last: string | null;
  /** Full name. Null when the vendor leaves it out. */
  readonly name_full: string | null;
  /** Accuracy statistics. Null when the vendor leaves it out. */
  readonly ratings_accuracy: RatingsAccuracy | null;
  /**
   * Unix time in seconds, UTC, of the last update at the vendor. A value in milliseconds is brought to
   * seconds. Not part of changed_fields; a record where only this moved publishes nothing.
   */
  readonly updated: number;
  /**
   * What this schema does not hold, as JSON text under its dotted vendor path: members that the vendor added,
   * and values whose type has drifted (the field itself is then null).
   */
  readonly extra: Readonly<Record<string, string>>;
}

/** One initial public offering of the IPO calendar. Specification 2.3, GET /api/v2.1/calendar/ipos. */
export interface Ipo {
  /** Record identifier. */
  readonly id: string;
  /** Issuer name. Null when unknown (the vendor writes an empty string or leaves it out). */
  readonly name: string | null;
  /** Ticker symbol. Null when unknown (the vendor writes an empty string or leaves it out). */
  readonly ticker: string | null;
  /** Exchange code. Null when unknown (the vendor writes an empty string or leaves it out). */
  readonly exchange: string | null;
  /** Currency code. Null when unknown (the vendor writes an empty string or leaves it out). */
  readonly currency: string | null;
  /**
   * IPO date: YYYY-MM-DD, or less where less is known: YYYY-MM, YYYY-Qn, or a bare year. Null when unknown
   * (the vendor writes an empty string or leaves it out).
   */
  readonly date: string | null;
  /** Time of day, HH:MM:SS. Null when unknown (the vendor writes an empty string or leaves it out). */
  readonly time: string | null;
  /**
   * Status of the deal: Rumored, Initial Filing, Amended, Priced, Closed, Postponed, Withdrawn have been
   * seen. Not a closed set. Each move is also an event of its own (DealStatusChanged). Null when unknown (the
   * vendor writes an empty string or leaves it out).
   */
  readonly deal_status: string | null;
  /**
   * Type of offering, for example Ordinary Shares, SPAC Unit, Direct Listing. Not a closed set. Null when
   * unknown (the vendor writes an empty string or leaves it out).
   */
  readonly ipo_type: string | null;
  /** Text. Null when unknown (the vendor writes an empty string or leaves it out). */
  readonly description: string | null;
  /** Text. Null when unknown (the vendor writes an empty string or leaves it out). */
  readonly notes: string | null;
  /**
   * Date text of the initial filing. Null when unknown (the vendor writes an empty string or leaves it out).
   */
  readonly initial_filing_date: string | null;
  /** Date text of the pricing. Null when unknown (the vendor writes an empty string or leaves it out). */
  readonly pricing_date: string | null;
  /** Whether the pricing date is verified. Null when the vendor leaves it out. */
  readonly pricing_date_verified: boolean | null;
  /** Whether the date of the first trade is verified. Null when the vendor leaves it out. */
  readonly open_date_verified: boolean | null;
  /**
   * Date text at which the insider lock-up ends. Null when unknown (the vendor writes an empty string or
   * leaves it out).
   */
  readonly insider_lockup_date: string | null;
  /**
   * Length of the insider lock-up in days. 0 is kept: it can be a value and can also be how the vendor says
   * unknown. Null when left out, which compares as equal to 0.
   */
  readonly insider_lockup_days: number | null;
  /**
   * Date text at which the underwriters' quiet period ends. Null when unknown (the vendor writes an empty
   * string or leaves it out).
   */
  readonly underwriter_quiet_expiration_date: string | null;
  /**
   * Length of the underwriters' quiet period in days. 0 is kept: it can be a value and can also be how the
   * vendor says unknown. Null when left out, which compares as equal to 0.
   */
  readonly underwriter_quiet_expiration_days: number | null;
  /** Names of the lead underwriters. Null when left out, which compares as equal to an empty list. */
  readonly lead_underwriters: readonly string[] | null;
  /**
   * Names of the other underwriters; may be empty. Null when left out, which compares as equal to an empty
   * list.
   */
  readonly other_underwriters: readonly string[] | null;
  /**
   * Number of shares offered. Null when unknown (the vendor writes 0, which cannot be a value here, or leaves
   * it out).
   */
  readonly offering_shares: number | null;
  /**
   * Number of ordinary shares or depositary receipts offered. 0 is kept: it can be a value and can also be
   * how the vendor says unknown. Null when left out, which compares as equal to 0.
   */
  readonly offering_shares_ord_adr: number | null;
  /**
   * Value of the offering, in the currency of the deal. Null when unknown (the vendor writes 0, which cannot
   * be a value here, or leaves it out).
   */
  readonly offering_value: number | null;
  /**
   * Market capitalisation at the offer. Null when unknown (the vendor writes 0, which cannot be a value here,
   * or leaves it out).
   */
  readonly market_cap_at_offer: number | null;
  /**
   * Shares outstanding. Null when unknown (the vendor writes 0, which cannot be a value here, or leaves it
   * out).
   */
  readonly shares_outstanding: number | null;
  /**
   * Ordinary shares outstanding after the offer. Null when unknown (the vendor writes 0, which cannot be a
   * value here, or leaves it out).
   */
  readonly ord_shares_out_after_offer: number | null;
  /**
   * Lower end of the price range. A decimal number as text, exactly as the vendor writes it; compared as a
   * number. Null when unknown (the vendor writes an empty string or leaves it out).
   */
  readonly price_min: string | null;
  /**
   * Upper end of the price range. A decimal number as text, exactly as the vendor writes it; compared as a
   * number. Null when unknown (the vendor writes an empty string or leaves it out).
   */
  readonly price_max: string | null;
  /**
   * First traded price. A decimal number as text, exactly as the vendor writes it; compared as a number. Null
   * when unknown (the vendor writes an empty string or leaves it out).
   */
  readonly price_open: string | null;
  /**
   * Price of the public offering (three decimals by the specification). A decimal number as text, exactly as
   * the vendor writes it; compared as a number. Null when unknown (the vendor writes an empty string or
   * leaves it out).
   */
  readonly price_public_offering: string | null;
  /** Income of the last year. 0 is a value where last_yr_income_year is known, else null. Can be negative. */
  readonly last_yr_income: number | null;
  /**
   * Year of last_yr_income. Null when unknown (the vendor writes 0, which cannot be a value here, or leaves
   * it out).
   */
  readonly last_yr_income_year: number | null;
  /** Revenue of the last year. 0 is a value where last_yr_revenue_year is known, else null. */
  readonly last_yr_revenue: number | null;
  /**
   * Year of last_yr_revenue. Null when unknown (the vendor writes 0, which cannot be a value here, or leaves
   * it out).
   */
  readonly last_yr_revenue_year: number | null;
  /**
   * Industry classification code. Null when unknown (the vendor writes 0, which cannot be a value here, or
   * leaves it out).
   */
  readonly sic: number | null;
  /** State of the issuer. Null when unknown (the vendor writes an empty string or leaves it out). */
  readonly state_location: string | null;
  /**
   * Accession number of the filing. Null when unknown (the vendor writes an empty string or leaves it out).
   */
  readonly sec_accession_number: string | null;
  /** Address of the filing. Null when unknown (the vendor writes an empty string or leaves it out). */
  readonly sec_filing_url: string | null;
  /** Whether the blank-cheque company has become its target. Null when the vendor leaves it out. */
  readonly spac_converted_to_target: boolean | null;
  /**
   * Unix time in seconds, UTC, of the last update at the vendor. A value in milliseconds is brought to
   * seconds. Not part of changed_fields; a record where only this moved publishes nothing.
   */
  readonly updated: number;
  /**
   * What this schema does not hold, as JSON text under its dotted vendor path: members that the vendor added,
   * and values whose type has drifted (the field itself is then null).
   */
  readonly extra: Readonly<Record<string, string>>;
}

/**
 * The deal_status of an IPO moved (or an IPO appeared with one, previous_status null). Never published for
 * records read by a snapshot.
 */
export interface DealStatusChanged {
  /** Id of this event: the causing change's event_id with a suffix. */
  readonly event_id: string;
  /** event_id of the change event that caused it. */
  readonly caused_by: string;
  /** What found the change: poll, snapshot, backfill, reconcile. */
  readonly origin: 'poll' | 'snapshot' | 'backfill' | 'reconcile';
  /** Record id of the IPO. */
  readonly id: string;
  /** Issuer name. */
  readonly name: string | null;
  /** Ticker symbol. */
  readonly ticker: string | null;
  /** Exchange code. */
  readonly exchange: string | null;
  /** Status before; null for a new IPO or an unknown status. */
  readonly previous_status: string | null;
  /** Status now; null when it became unknown. */
  readonly status: string | null;
  /** The vendor's updated of the record, Unix seconds. */
  readonly updated: number;
  /** Time of observation, Unix milliseconds. */
  readonly ts_ms: number;
}

/** Where the change was observed. */
export interface Source {
  /** Always highwater. */
  readonly connector: string;
  /** Version of highwater that published the event. */
  readonly version: string;
  /** Application id of the installation. */
  readonly name: string;
  /** Name of the feed: insights, analysts, ipos. */
  readonly feed: string;
  /** Path of the vendor's endpoint. */
  readonly endpoint: string;
  /** The vendor's updated of the record, Unix seconds. */
  readonly updated: number;
  /** The same in milliseconds. */
  readonly ts_ms: number;
  /** "true" for changes found while a snapshot runs, else "false". */
  readonly snapshot: 'true' | 'false';
  /** What found it: poll, snapshot, backfill, reconcile. */
  readonly origin: 'poll' | 'snapshot' | 'backfill' | 'reconcile';
  /** Short random id of this life of the feed's state; changes on reset. */
  readonly incarnation: string;
  /** Number of the change within feed and incarnation, from 1, without a gap over all partitions together. */
  readonly seq: number;
}

/** What is said of every change, whatever became of the record. */
export interface ChangeFacts {
  /**
   * On u the fields that differ, by their Avro names, dotted where nested (security.symbol), without updated;
   * else empty.
   */
  readonly changed_fields: readonly string[];
  /** Where the change was observed. */
  readonly source: Source;
  /** Time of observation, Unix milliseconds. */
  readonly ts_ms: number;
  /** <feed>:<incarnation>:<seq>; never repeats. */
  readonly event_id: string;
}

/** A record that was not there before (c), or is shown as it stands (r): read by a snapshot or backfill. */
export interface Appeared<Value> extends ChangeFacts {
  readonly op: 'c' | 'r';
  readonly before: null;
  readonly after: Value;
}

/** A record that differs from what was published before. */
export interface Updated<Value> extends ChangeFacts {
  readonly op: 'u';
  readonly before: Value;
  readonly after: Value;
}

/** A record that is gone. */
export interface Deleted<Value> extends ChangeFacts {
  readonly op: 'd';
  readonly before: Value;
  readonly after: null;
}

/** One change of one record of any feed, told apart by `op`. For a feed of your own: with your record type. */
export type RecordChange<Value> = Appeared<Value> | Updated<Value> | Deleted<Value>;

/** A change of the topic `insights`. */
export type InsightChange = RecordChange<Insight>;

/** A change of the topic `analysts`. */
export type AnalystChange = RecordChange<Analyst>;

/** A change of the topic `ipos`. */
export type IpoChange = RecordChange<Ipo>;

/** Name of a feed → its record. */
export interface FeedRecords {
  readonly insights: Insight;
  readonly analysts: Analyst;
  readonly ipos: Ipo;
}

/**
 * Name of a topic, without prefix → its events. Where `highwater.yaml` routes transitions onto the topic of the changes, that
 * topic has both.
 */
export interface TopicEvents {
  readonly insights: LogEvent<'marketdata.insights.Envelope', InsightChange>;
  readonly 'insights.rating-changes': LogEvent<'marketdata.insights.RatingChanged', RatingChanged>;
  readonly 'insights.current': LogEvent<'marketdata.insights.Insight', Insight> | LogEvent<null, null>;
  readonly 'insights.source-offset': LogEvent<'highwater.SourceOffset', SourceOffset>;
  readonly 'insights.dead-letters': LogEvent<'highwater.DeadLetter', DeadLetter> | LogEvent<null, null>;
  readonly analysts: LogEvent<'marketdata.analysts.Envelope', AnalystChange>;
  readonly 'analysts.current': LogEvent<'marketdata.analysts.Analyst', Analyst> | LogEvent<null, null>;
  readonly 'analysts.source-offset': LogEvent<'highwater.SourceOffset', SourceOffset>;
  readonly 'analysts.dead-letters': LogEvent<'highwater.DeadLetter', DeadLetter> | LogEvent<null, null>;
  readonly ipos: LogEvent<'marketdata.ipos.Envelope', IpoChange>;
  readonly 'ipos.deal-status': LogEvent<'marketdata.ipos.DealStatusChanged', DealStatusChanged>;
  readonly 'ipos.current': LogEvent<'marketdata.ipos.Ipo', Ipo> | LogEvent<null, null>;
  readonly 'ipos.source-offset': LogEvent<'highwater.SourceOffset', SourceOffset>;
  readonly 'ipos.dead-letters': LogEvent<'highwater.DeadLetter', DeadLetter> | LogEvent<null, null>;
}

/** Anything that highwater publishes, told apart by `type`; null is the tombstone of a compacted topic. */
export type HighwaterEvent = TopicEvents[keyof TopicEvents];
