import type { DeadLetterValue } from '../avro/codec/feed-codec';
import { recordDecoder } from '../avro/codec/record-decoder';
import type { SchemaLookup } from '../avro/registry/registry';
import type { Feed } from '../feeds/feed';
import type { LogReader, LogRecord } from '../log/commit-log';
import { latestRecords } from '../log/latest-records';
import { feedTopics } from '../log/topics';
import type { SourceOffset } from '../state/source-offset';

export interface StoredDeps {
  readonly commitLog: LogReader;
  readonly registry: SchemaLookup;
}

export interface StoredFeeds {
  readonly feeds: readonly Feed[];
  readonly topicPrefix: string;
}

/**
 * The source offset that each feed committed last, by the feed's name. A feed that has committed nothing is missing.
 * @param names topics that the log has
 * @throws HighwaterError KAFKA_*, LOG_*, REGISTRY_*
 */
export async function storedOffsets(
  { feeds, topicPrefix }: StoredFeeds,
  names: ReadonlySet<string>,
  { commitLog, registry }: StoredDeps,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, SourceOffset>> {
  const topicOf = (feed: Feed): string => feedTopics(feed, topicPrefix).sourceOffset.name;
  const topics = feeds.map(topicOf).filter((topic) => names.has(topic));
  const latest = (await latestRecords(commitLog, topics, signal))!;
  const decode = recordDecoder(registry);
  const offsets = new Map<string, SourceOffset>();
  for (const feed of feeds) {
    // Another program's record under another key says nothing of the feed.
    const record = latest.get(topicOf(feed))?.get(feed.name);
    if (record !== undefined) offsets.set(feed.name, (await decode(record)).value as SourceOffset);
  }
  return offsets;
}

/**
 * The dead letters that each feed keeps, by the feed's name.
 * @param most records that are read; null: there are more
 * @throws HighwaterError KAFKA_*, LOG_*
 */
export async function storedDeadLetters(
  { feeds, topicPrefix }: StoredFeeds,
  names: ReadonlySet<string>,
  { commitLog }: Pick<StoredDeps, 'commitLog'>,
  signal: AbortSignal,
  most = Number.POSITIVE_INFINITY,
): Promise<ReadonlyMap<string, KeptLetters> | null> {
  const topicOf = (feed: Feed): string => feedTopics(feed, topicPrefix).deadLetters.name;
  const topics = feeds.map(topicOf).filter((topic) => names.has(topic));
  const kept = await latestRecords(commitLog, topics, signal, most);
  if (kept === null) return null;
  return new Map(
    feeds.map((feed) => {
      const letters = [...(kept.get(topicOf(feed))?.values() ?? [])];
      return [feed.name, { count: letters.length, latest: letters.at(-1) ?? null }];
    }),
  );
}

export interface KeptLetters {
  readonly count: number;
  /** The last one that was written; null: there is none. */
  readonly latest: LogRecord | null;
}

/** Why the latest dead letter of each feed could not be published. A letter that cannot be decoded has no reason here. */
export async function latestReasons(
  letters: ReadonlyMap<string, KeptLetters> | null,
  registry: SchemaLookup,
): Promise<ReadonlyMap<string, string>> {
  const decode = recordDecoder(registry);
  const reasons = new Map<string, string>();
  for (const [feed, { latest }] of letters ?? []) {
    if (latest === null) continue;
    const letter = await decode(latest).catch(() => null);
    if (letter !== null) reasons.set(feed, (letter.value as DeadLetterValue).reason);
  }
  return reasons;
}
