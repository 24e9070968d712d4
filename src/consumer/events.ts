import type { LogRecord } from '../log/commit-log';
import type { Decoder } from './decoder';
import type { LogEvent } from './event';

/**
 * The event that a record is. A promise for the first record of a writer only: thousands of them come in one batch.
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
