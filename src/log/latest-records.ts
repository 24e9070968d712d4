import type { LogReader, LogRecord } from './commit-log';

/**
 * The latest record of each key, by topic; keys that were written last come last. A key whose latest record is a tombstone has none.
 * @param topics that exist
 * @param most records that are read; null: there are more
 * @throws HighwaterError as `LogReader.read`
 */
export async function latestRecords(
  log: Pick<LogReader, 'read'>,
  topics: readonly string[],
  signal: AbortSignal,
  most = Number.POSITIVE_INFINITY,
): Promise<ReadonlyMap<string, ReadonlyMap<string, LogRecord>> | null> {
  const latest = new Map(topics.map((topic) => [topic, new Map<string, LogRecord>()]));
  if (topics.length === 0) return latest;
  let read = 0;
  for await (const record of log.read(topics, { fromBeginning: true, follow: false, signal })) {
    const ofTopic = latest.get(record.topic)!;
    ofTopic.delete(record.key);
    if (record.value !== null) ofTopic.set(record.key, record);
    if (++read > most) return null;
  }
  return latest;
}
