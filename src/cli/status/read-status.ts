import { unlessAborted } from '../../async/wait';
import type { Config } from '../../config/load-config';
import { HighwaterError } from '../../errors';
import { storedDeadLetters, storedOffsets } from '../../feed-status/stored';
import type { OpenLog } from '../log/open-log';
import { type FeedStatus, feedStatus } from './feed-status';

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
  const space = open.space?.() ?? null;
  const now = Date.now();
  return config.feeds.map((feed) => {
    const offset = offsets.get(feed.name) ?? null;
    const owner = owners.get(feed.name) ?? null;
    const deadLetters = letters?.get(feed.name) ?? 0;
    return feedStatus(feed, { offset, owner, deadLetters, api: feed.apiUrl ?? config.apiUrl, space }, now);
  });
}
