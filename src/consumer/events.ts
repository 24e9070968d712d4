import type { LogRecord } from '../log/commit-log';
import type { Decoder } from './decoder';
import type { LogEvent } from './event';

/** The event that a record is. @throws HighwaterError SCHEMA_UNKNOWN, VALUE_FOREIGN, REGISTRY_* */
export async function toEvent(record: LogRecord, decoder: Decoder): Promise<LogEvent> {
  // Awaited for the first record of a writer only: thousands of them come in one batch.
  const preparing = decoder.prepare(record);
  if (preparing !== undefined) await preparing;
  return eventOf(record, decoder);
}

function eventOf(record: LogRecord, decoder: Decoder): LogEvent {
  const { topic, partition, logOffset, key, timestamp, headers } = record;
  const { type, value } = decoder.decode(record);
  const place = { topic, partition, offset: logOffset, key, timestamp };
  return { id: headers.ce_id ?? headers.event_id ?? '', type, value, ...place, headers, attempt: 1, record };
}
