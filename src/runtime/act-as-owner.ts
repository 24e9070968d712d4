import type { Request } from '../commands/inbox';
import type { ConfigWithApi } from '../config/load-config';
import type { Feed } from '../feeds/feed';
import { scopeFingerprint } from '../feeds/scope';
import { feedTopics } from '../log/topics';
import { createApiClients } from './api-clients';
import { carryOut } from './carry-out';
import { acquireFeed } from './owned-feed';
import { turnsAlone } from './turns';
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
  const { api, appId, topicPrefix } = config;
  const clients = createApiClients(api, { logger: deps.logger });
  const source = clients.of(feed.name);
  const topics = feedTopics(feed, topicPrefix);
  const membership = deps.log.join([topics], { instance: deps.instance, isGuest: true });
  try {
    const scope = scopeFingerprint(feed, api.access.get(feed.name)!.baseUrl);
    const grant = await membership.grant(feed.name, signal);
    const owned = await acquireFeed(feed, { ...deps, source, topics, scope, appId }, signal, grant);
    try {
      const { command } = request;
      const isQuiet = command.name === 'reconcile' && command.dryRun;
      await carryOut(feed, owned, request, signal, turnsAlone(feed, owned, isQuiet, signal));
    } finally {
      // Whoever comes next fences this owner anyway.
      await owned.session.release().catch(() => undefined);
    }
  } finally {
    await membership.leave();
    clients.close();
  }
}
