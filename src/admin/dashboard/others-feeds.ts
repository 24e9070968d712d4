import type { SchemaRegistry } from '../../avro/registry';
import type { Feed } from '../../feeds/feed';
import type { CommitLog } from '../../log/commit-log';
import { feedTopics } from '../../log/topics';
import type { Logger } from '../../logger';
import type { SourceOffset } from '../../state/source-offset';
import { storedOffsets } from '../../state/stored-offsets';
import { unlessLate } from '../../wait';

/** What the log says of feeds that other instances have. */
export interface OthersFeeds {
  offset(feed: string): SourceOffset | null;
  /** Dead letters in the log; null: not known. */
  deadLetters(feed: string): number | null;
  /** Asks the log, unless it was asked a moment ago. Never fails. */
  refresh(feeds: readonly Feed[], signal: AbortSignal): Promise<void>;
}

export interface OthersFeedsDeps {
  readonly commitLog: CommitLog;
  readonly registry: SchemaRegistry;
  readonly topicPrefix: string;
  readonly logger: Logger;
  /** Told of each offset when it was just read. */
  readonly noted: (feed: string, offset: SourceOffset) => void;
}

const OFFSETS_MS = 5_000;
/** Dead letters are read whole to be counted. */
const LETTERS_MS = 60_000;
const MOST_LETTERS = 10_000;
const LATE_MS = 10_000;

export function othersFeeds(deps: OthersFeedsDeps): OthersFeeds {
  const { commitLog, registry, topicPrefix, logger, noted } = deps;
  const offsets = new Map<string, SourceOffset>();
  const letters = new Map<string, number | null>();
  const asked = { offsets: Number.NEGATIVE_INFINITY, letters: Number.NEGATIVE_INFINITY };
  let asking: Promise<void> | null = null;

  async function ask(feeds: readonly Feed[], signal: AbortSignal): Promise<void> {
    const now = performance.now();
    if (now - asked.offsets >= OFFSETS_MS) {
      asked.offsets = now;
      const names = new Set((await commitLog.topicNames()) ?? []);
      const found = await storedOffsets({ feeds, topicPrefix }, names, { commitLog, registry }, signal);
      for (const { name } of feeds) offsets.delete(name);
      for (const [name, offset] of found) {
        offsets.set(name, offset);
        noted(name, offset);
      }
    }
    if (now - asked.letters >= LETTERS_MS) {
      asked.letters = now;
      for (const feed of feeds) letters.set(feed.name, await count(feed, signal));
    }
  }

  async function count(feed: Feed, signal: AbortSignal): Promise<number | null> {
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

  return {
    offset: (feed) => offsets.get(feed) ?? null,
    deadLetters: (feed) => letters.get(feed) ?? null,
    async refresh(feeds, signal) {
      if (feeds.length === 0) return;
      asking ??= unlessLate(ask(feeds, signal), LATE_MS, signal, () => new Error('no answer'))
        .catch((error: unknown) => logger.debug('the dashboard cannot read where feeds stand', { error }))
        .finally(() => {
          asking = null;
        });
      await asking;
    },
  };
}
