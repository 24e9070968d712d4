import type { SchemaRegistry } from '../../avro/registry/registry';
import { latestReasons, storedDeadLetters } from '../../feed-status/stored';
import type { Feed } from '../../feeds/feed';
import type { CommitLog } from '../../log/commit-log';
import type { Logger } from '../../logging/logger';

export interface LetterReasonsDeps {
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

/** A topic with more records is not read. */
const MOST_LETTERS = 10_000;
