import { recordDecoder } from '../avro/record-decoder';
import type { SchemaRegistry } from '../avro/registry';
import type { Feed } from '../feeds/feed';
import type { CommitLog, LogRecord } from '../log/commit-log';
import { feedTopics } from '../log/topics';
import type { SourceOffset } from './source-offset';

export interface StoredOffsetsDeps {
  readonly commitLog: CommitLog;
  readonly registry: SchemaRegistry;
}

/**
 * What each feed committed last, by name, as anybody can read it. A feed that has committed nothing is not there.
 * @param names of the topics that the log has
 * @throws HighwaterError KAFKA_*, LOG_*, REGISTRY_*
 */
export async function storedOffsets(
  { feeds, topicPrefix }: { readonly feeds: readonly Feed[]; readonly topicPrefix: string },
  names: ReadonlySet<string>,
  { commitLog, registry }: StoredOffsetsDeps,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, SourceOffset>> {
  const topicOf = (feed: Feed): string => feedTopics(feed, topicPrefix).sourceOffset.name;
  const topics = feeds.map(topicOf).filter((topic) => names.has(topic));
  const offsets = new Map<string, SourceOffset>();
  if (topics.length === 0) return offsets;
  const decode = recordDecoder(registry);
  const latest = new Map<string, LogRecord>();
  for await (const record of commitLog.read(topics, { fromBeginning: true, follow: false, signal }))
    if (record.value !== null) latest.set(record.topic, record);
  for (const feed of feeds) {
    const record = latest.get(topicOf(feed));
    if (record !== undefined) offsets.set(feed.name, (await decode(record)).value as SourceOffset);
  }
  return offsets;
}
