import { recordDecoder } from '../../avro/codec/record-decoder';
import { latestReasons, storedDeadLetters, storedOffsets } from '../../feed-status/stored';
import type { Feed } from '../../feeds/feed';
import type { LogRecord } from '../../log/commit-log';
import { feedTopics } from '../../log/topics';
import type { SourceOffset } from '../../state/source-offset';
import { allowanceOf, followTopic, type LogDeps } from './change-feed';

/** Dead letters are read whole to be counted, in ms. */
const LETTERS_MS = 60_000;
/** A topic with more records is not read. */
const MOST_LETTERS = 10_000;
/** Limit of source offsets; an owner commits a few each second at most. */
const MOST_PER_SECOND = 50;

interface WatchedFeed {
  readonly over: AbortController;
  offset: SourceOffset | null;
  letters: number | null;
  countedAt: number;
  /** Never rejects. */
  read: Promise<void>;
}

/**
 * What the log says of feeds: the state of other instances' feeds, and of all feeds why dead letters could not be published.
 * @param noted told of each offset as it is read
 * @param closing ends what reads dead letters
 */
export function othersFeeds(
  deps: LogDeps,
  noted: (feed: string, offset: SourceOffset) => void,
  closing: AbortSignal,
) {
  const { log, registry, topicPrefix, logger } = deps;
  const decode = recordDecoder(registry);
  const watched = new Map<string, WatchedFeed>();
  const reasons = new Map<string, { readonly count: number; readonly reason: Promise<string | null> }>();
  const topicNames = async () => new Set((await log.topicNames()) ?? []);

  async function readLetters(feed: Feed, signal: AbortSignal) {
    const stored = { feeds: [feed], topicPrefix };
    return storedDeadLetters(stored, await topicNames(), { commitLog: log }, signal, MOST_LETTERS);
  }

  function unread<T>(feed: Feed, otherwise: T): (error: unknown) => T {
    return (error) => {
      logger.debug('the dashboard cannot read where a feed stands', { feed: feed.name, error });
      return otherwise;
    };
  }

  async function countLetters(feed: Feed, one: WatchedFeed): Promise<void> {
    one.countedAt = performance.now();
    one.letters = (await readLetters(feed, one.over.signal))?.get(feed.name)?.count ?? null;
  }

  function watchFeed(feed: Feed): WatchedFeed {
    const over = new AbortController();
    const one: WatchedFeed = { over, offset: null, letters: null, countedAt: 0, read: Promise.resolve() };
    const take = (offset: SourceOffset | undefined): void => {
      const isOld = offset === undefined || offset.ts_ms < (one.offset?.ts_ms ?? 0);
      if (isOld || over.signal.aborted) return;
      one.offset = offset;
      noted(feed.name, offset);
    };
    const readAll = async (): Promise<void> => {
      // The last records of the topic may not hold the offset: others have written since a resting feed did.
      const deps = { commitLog: log, registry };
      const stored = { feeds: [feed], topicPrefix };
      take((await storedOffsets(stored, await topicNames(), deps, over.signal)).get(feed.name));
      await countLetters(feed, one);
    };
    one.countedAt = performance.now();
    one.read = readAll().catch(unread(feed, undefined));
    const followed = {
      topic: feedTopics(feed, topicPrefix).sourceOffset.name,
      allowance: allowanceOf(MOST_PER_SECOND),
      record: async (record: LogRecord) => {
        if (record.key === feed.name) take((await decode(record)).value as SourceOffset);
      },
    };
    void followTopic(followed, deps, over.signal);
    return one;
  }

  return {
    offset: (feed: string): SourceOffset | null => watched.get(feed)?.offset ?? null,
    /** Dead letters in the log; null: not known. */
    deadLetters: (feed: string): number | null => watched.get(feed)?.letters ?? null,
    /** Why the latest one could not be published; null: not known. The log is read again when there are more, or fewer. Never rejects. */
    latestReason(feed: Feed, count: number | null): Promise<string | null> | null {
      if (count === null || count === 0) return null;
      if (reasons.get(feed.name)?.count !== count) {
        const read = async () => latestReasons(await readLetters(feed, closing), registry);
        const reason = read().then((of) => of.get(feed.name) ?? null, unread(feed, null));
        reasons.set(feed.name, { count, reason });
      }
      return reasons.get(feed.name)!.reason;
    },
    /** Reads where these feeds stand, and follows it; lets go of all others. @returns once they were read. Never fails */
    watch(feeds: readonly Feed[]): Promise<unknown> {
      for (const [name, one] of watched) {
        if (feeds.some((feed) => feed.name === name)) continue;
        one.over.abort();
        watched.delete(name);
      }
      for (const feed of feeds) {
        const one = watched.get(feed.name) ?? watchFeed(feed);
        watched.set(feed.name, one);
        if (performance.now() - one.countedAt > LETTERS_MS)
          countLetters(feed, one).catch(unread(feed, undefined));
      }
      return Promise.all([...watched.values()].map(({ read }) => read));
    },
  };
}
