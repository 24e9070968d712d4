import { recordDecoder } from '../../avro/codec/record-decoder';
import type { SchemaRegistry } from '../../avro/registry/registry';
import { latestReasons, storedDeadLetters, storedOffsets } from '../../feed-status/stored';
import type { Feed } from '../../feeds/feed';
import type { CommitLog, LogRecord } from '../../log/commit-log';
import { feedTopics } from '../../log/topics';
import type { Logger } from '../../logging/logger';
import type { SourceOffset } from '../../state/source-offset';
import { allowanceOf, followTopic } from './change-feed';

/** The state of other instances' feeds, read from the log. */
interface OthersFeeds {
  offset(feed: string): SourceOffset | null;
  /** Dead letters in the log; null: not known. */
  deadLetters(feed: string): number | null;
  /** Reads where these feeds stand, and follows it; lets go of all others. @returns once they were read. Never fails */
  watch(feeds: readonly Feed[]): Promise<void>;
}

interface OthersFeedsDeps {
  readonly log: CommitLog;
  readonly registry: SchemaRegistry;
  readonly topicPrefix: string;
  readonly logger: Logger;
  /** Told of each offset as it is read. */
  readonly noted: (feed: string, offset: SourceOffset) => void;
}

/** Dead letters are read whole to be counted, in ms. */
const LETTERS_MS = 60_000;
const MOST_LETTERS = 10_000;
/** Limit of source offsets; an owner commits a few each second at most. */
const MOST_PER_SECOND = 50;

export function othersFeeds(deps: OthersFeedsDeps): OthersFeeds {
  const watched = new Map<string, WatchedFeed>();
  return {
    offset: (feed) => watched.get(feed)?.known.offset ?? null,
    deadLetters: (feed) => watched.get(feed)?.known.letters ?? null,
    async watch(feeds) {
      for (const [name, one] of watched) {
        if (feeds.some((feed) => feed.name === name)) continue;
        one.end();
        watched.delete(name);
      }
      for (const feed of feeds) {
        const one = watched.get(feed.name) ?? watchFeed(feed, deps);
        watched.set(feed.name, one);
        one.countAgain();
      }
      await Promise.all([...watched.values()].map(({ read }) => read));
    },
  };
}

interface WatchedFeed {
  /** As it was read last. */
  readonly known: { offset: SourceOffset | null; letters: number | null };
  /** Never rejects. */
  readonly read: Promise<void>;
  /** Counts the dead letters once a minute at most. */
  countAgain(): void;
  end(): void;
}

function watchFeed(feed: Feed, deps: OthersFeedsDeps): WatchedFeed {
  const { log, registry, topicPrefix, logger, noted } = deps;
  const stored = { feeds: [feed], topicPrefix };
  const decode = recordDecoder(registry);
  const over = new AbortController();
  const { signal } = over;
  const known: WatchedFeed['known'] = { offset: null, letters: null };
  let countedAt = performance.now();

  function take(offset: SourceOffset | undefined): void {
    if (offset === undefined || signal.aborted || offset.ts_ms < (known.offset?.ts_ms ?? 0)) return;
    known.offset = offset;
    noted(feed.name, offset);
  }

  const topicNames = async () => new Set((await log.topicNames()) ?? []);

  /** The last records of the topic may not hold the offset: others have written since a resting feed did. */
  async function readOffset(): Promise<void> {
    const found = await storedOffsets(stored, await topicNames(), { commitLog: log, registry }, signal);
    take(found.get(feed.name));
  }

  async function countLetters(): Promise<void> {
    const names = await topicNames();
    const counts = await storedDeadLetters(stored, names, { commitLog: log }, signal, MOST_LETTERS);
    known.letters = counts?.get(feed.name)?.count ?? null;
  }

  const unread = (error: unknown): void =>
    logger.debug('the dashboard cannot read where a feed stands', { feed: feed.name, error });

  const followed = {
    topic: feedTopics(feed, topicPrefix).sourceOffset.name,
    allowance: allowanceOf(MOST_PER_SECOND),
    record: async (record: LogRecord) => {
      if (record.key === feed.name) take((await decode(record)).value as SourceOffset);
    },
  };
  void followTopic(followed, deps, signal);
  return {
    known,
    read: readOffset().then(countLetters).catch(unread),
    countAgain() {
      if (performance.now() - countedAt < LETTERS_MS) return;
      countedAt = performance.now();
      countLetters().catch(unread);
    },
    end: () => over.abort(),
  };
}

interface LetterReasonsDeps {
  readonly log: CommitLog;
  readonly registry: SchemaRegistry;
  readonly topicPrefix: string;
  readonly logger: Logger;
}

/**
 * Why the latest dead letter of a feed could not be published. The log is read again when the number of letters has changed.
 * @returns a function whose promise never rejects; null: there is no letter, or its reason is not known
 */
export function letterReasons(
  { log, registry, topicPrefix, logger }: LetterReasonsDeps,
  signal: AbortSignal,
) {
  const known = new Map<string, { readonly count: number; readonly reason: Promise<string | null> }>();

  async function readReason(feed: Feed): Promise<string | null> {
    try {
      const stored = { feeds: [feed], topicPrefix };
      const names = new Set((await log.topicNames()) ?? []);
      const letters = await storedDeadLetters(stored, names, { commitLog: log }, signal, MOST_LETTERS);
      return (await latestReasons(letters, registry)).get(feed.name) ?? null;
    } catch (error) {
      logger.debug('the dashboard cannot read a dead letter', { feed: feed.name, error });
      return null;
    }
  }

  return (feed: Feed, count: number | null): Promise<string | null> | null => {
    if (count === null || count === 0) return null;
    if (known.get(feed.name)?.count !== count) known.set(feed.name, { count, reason: readReason(feed) });
    return known.get(feed.name)!.reason;
  };
}
