import type { Decoder } from '../avro/codec/record-decoder';
import type { LogRecord } from '../log/commit-log';

/** A decoded record of the log. `type` tells the members of a union of events apart. */
export interface LogEvent<Type extends string | null = string | null, Value = unknown> {
  /** CloudEvents id: `ipos:3f2a91c0:802`, `ipos:3f2a91c0:802:deal_status`. It never repeats. Empty in topics whose records have no id. */
  readonly id: string;
  /** Avro full name of the value: `marketdata.ipos.DealStatusChanged`. Null for a tombstone of a compacted topic. */
  readonly type: Type;
  readonly value: Value;
  /** Full name, with the prefix. */
  readonly topic: string;
  readonly partition: number;
  /** Position in the partition: ascending, perhaps with gaps. */
  readonly offset: number;
  readonly key: string;
  /** Time of observation, Unix ms. */
  readonly timestamp: number;
  readonly headers: Readonly<Record<string, string>>;
  /** 1 for the first try of a handler, 2 for the second. */
  readonly attempt: number;
  /** The undecoded record. */
  readonly record: LogRecord;
}

/** Conditions on an event's headers and key, checked before decoding. All must hold; for a list, one of its members must. */
export interface EventFilter {
  /** Kinds of change; for events of their own, the kind of the change that caused them. */
  readonly op?: readonly ('c' | 'u' | 'd' | 'r')[];
  /** Ticker symbols. */
  readonly symbol?: readonly string[];
  /** Avro names of fields, dotted if nested. One of them must have changed, so only updates match. */
  readonly changedFields?: readonly string[];
  /** CloudEvents types: `marketdata.ipos.updated`. */
  readonly eventType?: readonly string[];
  /** Record keys. */
  readonly key?: readonly string[];
}

/**
 * The event of a record. Only the first record of a writer takes a promise, since a batch has thousands of records.
 * @throws HighwaterError SCHEMA_UNKNOWN, VALUE_FOREIGN, REGISTRY_*, at once or by the promise
 */
export function toEvent(record: LogRecord, decoder: Decoder): LogEvent | Promise<LogEvent> {
  const preparing = decoder.prepare(record);
  return preparing === undefined ? eventOf(record, decoder) : preparing.then(() => eventOf(record, decoder));
}

function eventOf(record: LogRecord, decoder: Decoder): LogEvent {
  const { topic, partition, logOffset, key, timestamp, headers } = record;
  const { type, value } = decoder.decode(record);
  const id = headers.ce_id ?? headers.event_id ?? '';
  return {
    id,
    type,
    value,
    topic,
    partition,
    offset: logOffset,
    key,
    timestamp,
    headers,
    attempt: 1,
    record,
  };
}

/** Whether an event is wanted, by its headers and key only: an event that is not wanted is never decoded. */
export function eventFilter(where: EventFilter | undefined): (record: LogRecord) => boolean {
  if (where === undefined) return () => true;
  const { op, symbol, changedFields, eventType, key } = where;
  const wanted: ((record: LogRecord) => boolean)[] = [];
  const add = (values: readonly string[] | undefined, of: (record: LogRecord) => string | undefined) => {
    if (values === undefined) return;
    const set = new Set(values);
    wanted.push((record) => set.has(of(record) ?? ''));
  };
  add(key, (record) => record.key);
  add(op, ({ headers }) => headers.op);
  add(symbol, ({ headers }) => headers.symbol);
  add(eventType, ({ headers }) => headers.ce_type);
  if (changedFields !== undefined) {
    const set = new Set(changedFields);
    wanted.push(({ headers }) => (headers['changed-fields'] ?? '').split(',').some((name) => set.has(name)));
  }
  return (record) => wanted.every((holds) => holds(record));
}
