import type { HttpConfig } from '../config/http';
import type { Feed } from '../feeds/feed';
import type { CommitLog } from '../log/commit-log';
import type { Logger } from '../logger';
import type { Tell } from '../runtime/publisher-events';
import { feedBoard } from './feed-board';
import { type BuildInfo, createMetrics } from './metrics';
import { startAdminServer } from './server';

export interface AdminOptions {
  readonly feeds: readonly Feed[];
  readonly log: CommitLog;
  readonly build: BuildInfo;
  readonly logger: Logger;
}

/** What a running publisher shows of itself. */
export interface Admin {
  /** To be told of all that the publisher does. */
  readonly tell: Tell;
  close(): Promise<void>;
}

/**
 * Metrics and health over HTTP.
 * @throws HighwaterError PORT_UNAVAILABLE
 */
export async function startAdmin(
  http: HttpConfig,
  { feeds, log, build, logger }: AdminOptions,
): Promise<Admin> {
  const board = feedBoard(feeds);
  const metrics = createMetrics(board, build);
  const { url, close } = await startAdminServer(http, { board, metrics, log });
  logger.info(`Metrics at ${url}/metrics, health at ${url}/livez and ${url}/readyz.`);
  return {
    close,
    tell(event) {
      try {
        board.tell(event);
        metrics.tell(event);
      } catch (error) {
        // A number that is not counted must not stop what is.
        logger.debug('an event was not counted', { feed: event.feed, kind: event.kind, error });
      }
    },
  };
}
