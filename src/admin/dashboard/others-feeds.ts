import { latestReasons, type StoredFeeds, storedDeadLetters, storedOffsets } from '../../feed-status/stored';
import type { Feed } from '../../feeds/feed';
import type { SourceOffset } from '../../state/source-offset';
import type { LogDeps } from './change-feed';

/** How often each is read, in ms. Dead letters are read whole to be counted. */
const [OFFSETS_MS, LETTERS_MS] = [4_000, 30_000];
/** A topic with more records is not read. */
const MOST_LETTERS = 10_000;

/**
 * What the log says of feeds: the state of other instances' feeds, and the dead letters of all feeds. It is read only on demand, and
 * what was read last stays if the log does not answer.
 * @param noted told of each offset as it is read
 */
export function othersFeeds(
  { log, registry, topicPrefix, logger }: LogDeps,
  noted: (feed: string, offset: SourceOffset) => void,
  signal: AbortSignal,
) {
  const deps = { commitLog: log, registry };
  const offsets = new Map<string, SourceOffset>();
  const letters = new Map<string, { readonly count: number | null; readonly reason: string | null }>();

  /** Never rejects. */
  function nowAndThen(
    everyMs: number,
    read: (of: StoredFeeds, topics: ReadonlySet<string>) => Promise<void>,
  ) {
    let begunMs = Number.NEGATIVE_INFINITY;
    let reading: Promise<void> | null = null;

    async function readEach(feeds: readonly Feed[]): Promise<void> {
      const topics = log.topicNames().then((names) => new Set(names));
      const readOne = async (feed: Feed) => read({ feeds: [feed], topicPrefix }, await topics);
      const failed = (feed: Feed) => (error: unknown) =>
        logger.debug('the dashboard cannot read where a feed stands', { feed: feed.name, error });
      await Promise.all(feeds.map((feed) => readOne(feed).catch(failed(feed))));
      reading = null;
    }
    return (feeds: readonly Feed[]): Promise<void> | null => {
      if (reading !== null || feeds.length === 0 || performance.now() - begunMs < everyMs) return reading;
      begunMs = performance.now();
      reading = readEach(feeds);
      return reading;
    };
  }

  return {
    offset: (feed: string): SourceOffset | null => offsets.get(feed) ?? null,
    /** Dead letters in the log, and why the latest one could not be published; null: not known. */
    letters: (feed: string) => letters.get(feed) ?? { count: null, reason: null },
    readOffsets: nowAndThen(OFFSETS_MS, async (of, topics) => {
      for (const [feed, offset] of await storedOffsets(of, topics, deps, signal)) {
        offsets.set(feed, offset);
        noted(feed, offset);
      }
    }),
    readLetters: nowAndThen(LETTERS_MS, async (of, topics) => {
      const kept = await storedDeadLetters(of, topics, deps, signal, MOST_LETTERS);
      const reasons = await latestReasons(kept, registry);
      for (const { name } of of.feeds)
        letters.set(name, { count: kept?.get(name)?.count ?? null, reason: reasons.get(name) ?? null });
    }),
  };
}
