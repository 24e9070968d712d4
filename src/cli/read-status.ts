import { recordDecoder } from '../avro/record-decoder';
import type { Config } from '../config/load-config';
import { HighwaterError } from '../errors';
import type { LogRecord } from '../log/commit-log';
import { feedTopics } from '../log/topics';
import type { SourceOffset } from '../state/source-offset';
import { unlessAborted } from '../wait';
import { type FeedStatus, feedStatus } from './feed-status';
import type { OpenLog } from './open-log';

/**
 * Asks the log once where each feed stands.
 * @throws HighwaterError LOG_MISSING, and what the log, the registry and the group of publishers throw; the signal's reason
 */
export async function readStatus(
  config: Config,
  open: OpenLog,
  signal: AbortSignal,
): Promise<readonly FeedStatus[]> {
  const names = await unlessAborted(open.commitLog.topicNames(), signal);
  if (names === null) throw new HighwaterError('LOG_MISSING', `there is no log in ${open.place} yet`);
  const [stored, owners] = await Promise.all([
    storedState(config, new Set(names), open, signal),
    open.commitLog.owners(
      config.feeds.map(({ name }) => name),
      signal,
    ),
  ]);
  signal.throwIfAborted();
  const now = Date.now();
  return config.feeds.map((feed) => {
    const { offset, deadLetters } = stored.get(feed.name)!;
    return feedStatus(feed, { offset, deadLetters, owner: owners.get(feed.name) ?? null }, now);
  });
}

interface StoredState {
  readonly offset: SourceOffset | null;
  readonly deadLetters: number;
}

/** What each feed committed last, and how many dead letters are kept of it. */
async function storedState(
  { feeds, topicPrefix }: Config,
  names: ReadonlySet<string>,
  { commitLog, registry }: OpenLog,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, StoredState>> {
  const topicsOf = feeds.map((feed) => ({ feed, topics: feedTopics(feed, topicPrefix) }));
  const latest = new Map<string, LogRecord>();
  const letters = new Map(topicsOf.map(({ topics }) => [topics.deadLetters.name, new Set<string>()]));
  const wanted = topicsOf
    .flatMap(({ topics }) => [topics.sourceOffset.name, topics.deadLetters.name])
    .filter((topic) => names.has(topic));
  if (wanted.length > 0) {
    for await (const record of commitLog.read(wanted, { fromBeginning: true, follow: false, signal })) {
      const kept = letters.get(record.topic);
      if (kept === undefined) {
        if (record.value !== null) latest.set(record.topic, record);
      } else if (record.value === null) kept.delete(record.key);
      else kept.add(record.key);
    }
  }
  const decode = recordDecoder(registry);
  const stored = new Map<string, StoredState>();
  for (const { feed, topics } of topicsOf) {
    const record = latest.get(topics.sourceOffset.name);
    stored.set(feed.name, {
      offset: record === undefined ? null : ((await decode(record)).value as SourceOffset),
      deadLetters: letters.get(topics.deadLetters.name)!.size,
    });
  }
  return stored;
}
