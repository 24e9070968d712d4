import type { LogRecord } from '../log/commit-log';

/** A record of the log as a consumer gets it: decoded, and named by its Avro type, by which a union of events is told apart. */
export interface LogEvent<Type extends string | null = string | null, Value = unknown> {
  /** CloudEvents id: `ipos:3f2a91c0:802`, `ipos:3f2a91c0:802:deal_status`. Never repeats. Empty in topics without such ids. */
  readonly id: string;
  /** Avro full name of the value: `marketdata.ipos.DealStatusChanged`. Null for a tombstone of a compacted topic. */
  readonly type: Type;
  readonly value: Value;
  /** Full name, with the prefix. */
  readonly topic: string;
  readonly partition: number;
  /** Position in the partition; grows, may have gaps. */
  readonly offset: number;
  readonly key: string;
  /** Time of observation, ms. */
  readonly timestamp: number;
  readonly headers: Readonly<Record<string, string>>;
  /** 1 for the first try of a handler, 2 for the second. */
  readonly attempt: number;
  /** The record as it lies in the log, not decoded. */
  readonly record: LogRecord;
}

/** What is asked of an event's headers, before anything is decoded. All that is given must hold; of a list, one member. */
export interface EventFilter {
  /** Kinds of change; for events of their own, the kind of the change that caused them. */
  readonly op?: readonly ('c' | 'u' | 'd' | 'r')[];
  /** Ticker symbols. */
  readonly symbol?: readonly string[];
  /** Avro names of fields, dotted where nested, of which one at least was changed: holds for updates alone. */
  readonly changedFields?: readonly string[];
  /** CloudEvents types: `marketdata.ipos.updated`. */
  readonly eventType?: readonly string[];
  /** Record keys. */
  readonly key?: readonly string[];
}
