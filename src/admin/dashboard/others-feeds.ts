import { recordDecoder } from '../../avro/record-decoder';
import type { SchemaRegistry } from '../../avro/registry';
import type { Feed } from '../../feeds/feed';
import type { CommitLog } from '../../log/commit-log';
import type { ConsumerLog } from '../../log/consumer-log';
import { feedTopics } from '../../log/topics';
import type { Logger } from '../../logger';
import type { SourceOffset } from '../../state/source-offset';
import { storedOffsets } from '../../state/stored-offsets';
import { allowanceOf, followTopic } from './log-follower';

/** What the log says of feeds that other instances have. */
export interface OthersFeeds {
  offset(feed: string): SourceOffset | null;
  /** Dead letters in the log; null: not known. */
  deadLetters(feed: string): number | null;
  /** Reads where these feeds stand, and follows it; lets go of all others. @returns once they were read. Never fails */
  watch(feeds: readonly Feed[]): Promise<void>;
}

export interface OthersFeedsDeps {
  readonly commitLog: CommitLog;
  readonly openedLog: () => ConsumerLog;
  readonly registry: SchemaRegistry;
  readonly topicPrefix: string;
  readonly logger: Logger;
  /** Told of each offset as it is read. */
  readonly noted: (feed: string, offset: SourceOffset) => void;
}

/** Dead letters are read whole to be counted, in ms. */
const LETTERS_MS = 60_000;
const MOST_LETTERS = 10_000;
/** Of source offsets; an owner commits a few each second at most. */
const MOST_PER_SECOND = 50;

export function othersFeeds(deps: OthersFeedsDeps): OthersFeeds {
  const { commitLog, registry, topicPrefix, logger, noted } = deps;
  const watched = new Map<string, Watched>();
  const decode = recordDecoder(registry);

  function begin(feed: Feed): Watched {
    const over = new AbortController();
    const { signal } = over;
    const one: Watched = {
      over,
      read: readWhole(),
      offset: null,
      letters: null,
      lettersAt: performance.now(),
    };
    void followTopic(
      feedTopics(feed, topicPrefix).sourceOffset.name,
      { log: deps.openedLog(), logger },
      {
        allowance: allowanceOf(MOST_PER_SECOND),
        opened: () => undefined,
        passedOver: () => undefined,
        record: async (record) => take((await decode(record)).value as SourceOffset),
      },
      signal,
    );
    return one;

    /** What is read of the end alone may not hold it: of a feed that rests, others have written since. */
    async function readWhole(): Promise<void> {
      try {
        const names = new Set((await commitLog.topicNames()) ?? []);
        const found = await storedOffsets(
          { feeds: [feed], topicPrefix },
          names,
          { commitLog, registry },
          signal,
        );
        const offset = found.get(feed.name);
        if (offset !== undefined) take(offset);
        one.letters = await countLetters(feed, signal);
      } catch (error) {
        logger.debug('the dashboard cannot read where a feed stands', { feed: feed.name, error });
      }
    }

    function take(offset: SourceOffset): void {
      if (signal.aborted || offset.ts_ms < (one.offset?.ts_ms ?? 0)) return;
      one.offset = offset;
      noted(feed.name, offset);
    }
  }

  async function countLetters(feed: Feed, signal: AbortSignal): Promise<number | null> {
    const kept = new Set<string>();
    const { name } = feedTopics(feed, topicPrefix).deadLetters;
    let read = 0;
    for await (const { key, value } of commitLog.read([name], {
      fromBeginning: true,
      follow: false,
      signal,
    })) {
      if (value === null) kept.delete(key);
      else kept.add(key);
      if (++read > MOST_LETTERS) return null;
    }
    return kept.size;
  }

  function countAgain(feed: Feed, one: Watched): void {
    if (performance.now() - one.lettersAt < LETTERS_MS) return;
    one.lettersAt = performance.now();
    countLetters(feed, one.over.signal)
      .then((count) => {
        one.letters = count;
      })
      .catch((error: unknown) => logger.debug('the dashboard cannot count dead letters', { error }));
  }

  return {
    offset: (feed) => watched.get(feed)?.offset ?? null,
    deadLetters: (feed) => watched.get(feed)?.letters ?? null,
    async watch(feeds) {
      for (const [name, { over }] of watched) {
        if (feeds.some((feed) => feed.name === name)) continue;
        over.abort();
        watched.delete(name);
      }
      for (const feed of feeds) {
        const one = watched.get(feed.name) ?? begin(feed);
        watched.set(feed.name, one);
        countAgain(feed, one);
      }
      await Promise.all([...watched.values()].map(({ read }) => read));
    },
  };
}

interface Watched {
  readonly over: AbortController;
  readonly read: Promise<void>;
  offset: SourceOffset | null;
  letters: number | null;
  lettersAt: number;
}
