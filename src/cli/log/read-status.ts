import { unlessAborted } from '../../async/wait';
import type { Config } from '../../config/load-config';
import { HighwaterError } from '../../errors';
import { type FeedStatus, feedStatus } from '../../feed-status/feed-status';
import { latestReasons, storedDeadLetters, storedOffsets } from '../../feed-status/stored';
import { describeProgress } from '../../pipeline/rounds/backfill';
import type { OpenLog } from './open-log';

/** One line of `status --json`: these members follow those of every `FeedStatus`, in this order. */
export interface StatusLine extends FeedStatus {
  readonly dead_letters: number;
  /** Base address of the API that this command's settings name for the feed; null: they name none. */
  readonly api: string | null;
  /** Size of the embedded log's file, which all feeds share; null on Kafka. */
  readonly log_bytes: number | null;
  /** Part of `log_bytes` that is free for new records. */
  readonly log_free_bytes: number | null;
}

/**
 * Reads the status of each feed from the log.
 * @throws HighwaterError LOG_MISSING and errors of the log, the registry and the group of publishers; the signal's reason
 */
export async function readStatus(
  config: Config,
  open: OpenLog,
  signal: AbortSignal,
): Promise<readonly StatusLine[]> {
  const names = await unlessAborted(open.commitLog.topicNames(), signal);
  if (names === null) throw new HighwaterError('LOG_MISSING', `there is no log in ${open.place} yet`);
  const inLog = new Set(names);
  const [offsets, letters, owners] = await Promise.all([
    storedOffsets(config, inLog, open, signal),
    storedDeadLetters(config, inLog, open, signal),
    open.commitLog.owners(
      config.feeds.map(({ name }) => name),
      signal,
    ),
  ]);
  signal.throwIfAborted();
  const { total = null, free = null } = open.space?.() ?? {};
  const now = Date.now();
  const reasons = await latestReasons(letters, open.registry);
  return config.feeds.map((feed) => {
    const offset = offsets.get(feed.name) ?? null;
    const dead_letters = letters?.get(feed.name)?.count ?? 0;
    const knowledge = {
      feed,
      offset,
      owner: owners.get(feed.name) ?? null,
      live: null,
      deadLetters: dead_letters,
      deadLetterReason: reasons.get(feed.name) ?? null,
      backfillDone: offset === null ? null : (describeProgress(offset, now)?.done ?? null),
    };
    const api = feed.apiUrl ?? config.apiUrl;
    return { ...feedStatus(knowledge, now), dead_letters, api, log_bytes: total, log_free_bytes: free };
  });
}
