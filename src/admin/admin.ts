import type { SchemaRegistry } from '../avro/registry/registry';
import type { HttpConfig } from '../config/http';
import { type ApiConfig, baseUrlsOf } from '../config/load-config';
import type { Feed } from '../feeds/feed';
import type { CommitLog } from '../log/commit-log';
import type { Logger } from '../logging/logger';
import type { Tell } from '../runtime/publisher-events';
import type { Redact } from '../secrets/redaction';
import { createDashboard } from './dashboard/dashboard';
import { feedBoard, ownersOf } from './feed-board';
import { startAdminServer } from './http/server';
import { type BuildInfo, createMetrics, type LogMeasures } from './metrics/metrics';

export interface AdminOptions extends LogMeasures {
  readonly feeds: readonly Feed[];
  readonly topicPrefix: string;
  readonly log: CommitLog;
  readonly registry: SchemaRegistry;
  readonly instance: string;
  /** Where the log is, for people. */
  readonly place: string;
  readonly api: Pick<ApiConfig, 'access' | 'budget'>;
  readonly build: BuildInfo;
  readonly redact: Redact;
  readonly logger: Logger;
}

/** The HTTP server of a running publisher. */
export interface Admin {
  /** `http://127.0.0.1:9464` */
  readonly url: string;
  /** Receives every event of the publisher. */
  readonly tell: Tell;
  close(): Promise<void>;
}

/**
 * Dashboard, metrics and health over HTTP.
 * @throws HighwaterError PORT_UNAVAILABLE
 */
export async function startAdmin(http: HttpConfig, options: AdminOptions): Promise<Admin> {
  const { feeds, log, build, logger, api } = options;
  const board = feedBoard(feeds);
  const owners = ownersOf(
    log,
    feeds.map(({ name }) => name),
  );
  const metrics = createMetrics(board, owners, build, options);
  const dashboard = createDashboard({
    ...options,
    board,
    owners,
    publisher: {
      instance: options.instance,
      version: build.version,
      log: options.place,
      logKind: build.log,
      api: baseUrlsOf(api).join(', '),
    },
    allowedPerMinute: Math.round(60 * api.budget.requestsPerSecond),
  });
  const { url, close } = await startAdminServer(http, { board, metrics, dashboard, owners, logger });
  return {
    url,
    close,
    tell(event) {
      try {
        board.tell(event);
        metrics.tell(event);
        dashboard.tell(event);
      } catch (error) {
        // If a metric cannot be counted, the work that it counts still goes on.
        logger.debug('an event was not counted', { feed: event.feed, kind: event.kind, error });
      }
    },
  };
}
