import { pause } from '../async/wait';
import type { Request } from '../commands/inbox';
import type { ConfigWithApi } from '../config/load-config';
import type { Feed } from '../feeds/feed';
import { scopeFingerprint } from '../feeds/scope';
import { feedTopics } from '../log/topics';
import { flushSpans } from '../logging/tracing';
import { pollFeed } from '../pipeline/poll';
import { createApiClients } from './api-clients';
import { carryOut, type Turns } from './carry-out';
import { acquireFeed, type OwnedFeed } from './owned-feed';
import type { WorkerDeps } from './worker';

/**
 * Acquires a feed for one command, carries it out as a publisher would, and lets go of the feed. The request is answered
 * once the feed is acquired.
 *
 * @throws HighwaterError as acquireFeed: LOG_OWNED when a publisher has the feed and the log can tell
 */
export async function actAsOwner(
  feed: Feed,
  config: ConfigWithApi,
  deps: WorkerDeps & { readonly instance: string },
  request: Request,
  signal: AbortSignal,
): Promise<void> {
  const { api, appId, partitions, stateDir, topicPrefix } = config;
  const onLate = (waiting: string): void => request.progress(waiting, { waiting: true });
  const clients = createApiClients(api, { logger: deps.logger, onLate });
  const source = clients.of(feed.name);
  const topics = feedTopics(feed, topicPrefix, partitions);
  const membership = deps.log.join([topics], { instance: deps.instance, isGuest: true });
  try {
    const scope = scopeFingerprint(feed, api.access.get(feed.name)!.baseUrl);
    const grant = await membership.grant(feed.name, signal);
    const owned = await acquireFeed(feed, { ...deps, source, topics, scope, appId, stateDir }, signal, grant);
    try {
      const { command } = request;
      const isQuiet = command.name === 'reconcile' && command.dryRun;
      await carryOut(feed, owned, request, signal, turnsAlone(feed, owned, isQuiet, signal));
    } finally {
      // Whoever comes next fences this owner anyway.
      await owned.close().catch(() => undefined);
    }
  } finally {
    await membership.leave();
    clients.close();
    await flushSpans();
  }
}

/**
 * The turns of a process that owns the feed for one command only. It polls as a publisher would: polls see the records that
 * move while a long command reads.
 * @param quiet nothing may be published, so there are no polls
 */
function turnsAlone(feed: Feed, { deps }: OwnedFeed, quiet: boolean, signal: AbortSignal): Turns {
  let nextPollAt = performance.now() + feed.pollIntervalMs;
  const pollNow = async (): Promise<void> => {
    if (quiet) return;
    await pollFeed(deps, false, signal);
    nextPollAt = performance.now() + feed.pollIntervalMs;
  };
  return {
    poll: pollNow,
    async between() {
      if (performance.now() >= nextPollAt && deps.state.offset.snapshot === 'complete') await pollNow();
    },
    async rest(ms) {
      const end = performance.now() + ms;
      // Polls of the pause tell whether it has to be longer.
      for (let left = ms; left > 0 && !signal.aborted; left = end - performance.now()) {
        await pause(Math.min(left, feed.pollIntervalMs), signal);
        await pollNow();
      }
    },
  };
}
