import { setMaxListeners } from 'node:events';
import { hostname } from 'node:os';
import { allEnded } from '../async/wait';
import { createInbox } from '../commands/inbox';
import { serveCommands } from '../commands/serve-commands';
import type { ConfigWithApi } from '../config/load-config';
import { type ErrorCode, HighwaterError } from '../errors';
import { scopeFingerprint } from '../feeds/scope';
import type { CommitLog, FeedSession } from '../log/commit-log';
import type { ConsumerLog } from '../log/consumer-log';
import type { Membership } from '../log/membership';
import { commandsTopic, feedTopics } from '../log/topics';
import { flushSpans } from '../logging/tracing';
import type { PageReport } from '../pipeline/poll';
import { createDrift } from '../pipeline/records/drift';
import { createRedactor } from '../secrets/redaction';
import { createApiClients } from './api-clients';
import { type FeedTaskReport, runFeedTask } from './feed-task';
import type { OwnedFeedDeps } from './owned-feed';
import type { Tell } from './publisher-events';
import { standBy } from './standby';

export interface WorkerDeps
  extends Pick<OwnedFeedDeps, 'log' | 'registry' | 'logger' | 'onPage' | 'onRestore'> {
  readonly tell?: Tell;
  /** The same log, from which feeds of other owners are copied. Left out: they are not. */
  readonly standbyLog?: ConsumerLog;
}

/** Name of this process for people: in the source offset, and in the error of a second publisher. */
export function instanceName(): string {
  return `${hostname()}:${process.pid}`;
}

/**
 * Runs all configured feeds in this process, each in its own task, with one request budget for each API. Resolves when all tasks have
 * ended: after the signal, or with `once` after one poll each. Without `once` it carries out operators' commands.
 * @throws HighwaterError LOG_* if nothing can be published to this log
 */
export async function runWorker(
  config: ConfigWithApi,
  deps: WorkerDeps,
  once: boolean,
  signal: AbortSignal,
): Promise<readonly FeedTaskReport[]> {
  const { api, appId, rotation } = config;
  const { logger, standbyLog } = deps;
  rotation.logger = logger;
  const tell: Tell = deps.tell ?? (() => undefined);
  const clients = createApiClients(api, { logger, tell });
  // An error that ends one task for good (the log has another owner) ends the others too.
  const failed = new AbortController();
  const stop = AbortSignal.any([signal, failed.signal]);
  setMaxListeners(0, stop); // every feed waits on it
  const held = ownedLog(deps.log, tell, {
    acquired: (feed) => commands?.acquired(feed),
    lost(feed) {
      commands?.lost(feed);
      tell({ kind: 'released', feed });
    },
  });
  const commandTopic = commandsTopic(appId, config.topicPrefix);
  const [instance, redact] = [instanceName(), createRedactor(config.secrets)];
  const { feeds, partitions, topicPrefix, stateDir } = config;
  const topics = new Map(feeds.map((feed) => [feed.name, feedTopics(feed, topicPrefix, partitions)]));
  const membership = deps.log.join([...topics.values()], { instance, isGuest: once });
  // A publisher that polls once ends before anybody could ask.
  const ofFeeds = { owns: held.owns, waitsFor: clients.waitsFor };
  const commands = once
    ? null
    : serveCommands({ ...deps, topic: commandTopic, instance, redact, ...ofFeeds });
  const handOver = earlyHandOver(membership, stop);
  const closing = new Set<Promise<void>>();
  try {
    // All acquired sessions are released by then.
    return await allEnded(
      feeds.map((feed) => {
        const ofFeed = { topics: topics.get(feed.name)!, stateDir };
        const task = {
          ...deps,
          tell,
          redact,
          rotation,
          onPage(report: PageReport) {
            deps.onPage?.(report);
            tell({ kind: 'page', feed: feed.name, report });
          },
          log: held.log,
          source: clients.of(feed.name),
          patientSource: clients.of(feed.name, 'backfill'),
          membership,
          ...ofFeed,
          scope: scopeFingerprint(feed, api.access.get(feed.name)!.baseUrl),
          appId,
          instance,
          drift: createDrift(feed, logger),
          inbox: commands?.inboxOf(feed.name) ?? createInbox(),
          onClosing(closed: Promise<void>) {
            closing.add(closed);
            void closed.then(() => closing.delete(closed));
          },
          ...(standbyLog && { standBy: () => standBy(feed, { ...deps, log: standbyLog, ...ofFeed }) }),
        };
        return runFeedTask(feed, task, once, stop)
          .catch((error: unknown) => {
            failed.abort();
            throw error;
          })
          .finally(() => handOver.ended(feed.name));
      }),
    );
  } finally {
    handOver.close();
    await Promise.all([commands?.close(), membership.leave()]);
    await Promise.all(closing);
    clients.close();
    await flushSpans();
  }
}

/**
 * A log that knows which feeds this process owns, from acquire to release, and reports each transaction.
 * @param listener is told of each feed that this process owns from now on, or no longer
 */
function ownedLog(
  log: CommitLog,
  tell: Tell,
  listener: { acquired(feed: string): void; lost(feed: string): void },
) {
  const epochs = new Map<string, string>();
  return {
    owns: (feed: string): boolean => epochs.has(feed),
    /** The log to acquire feeds of. */
    log: {
      ...log,
      async acquire(...[topics, signal, grant]: Parameters<CommitLog['acquire']>): Promise<FeedSession> {
        const { feed } = topics;
        const session = await log.acquire(topics, signal, grant);
        epochs.set(feed, session.ownerEpoch);
        listener.acquired(feed);
        return {
          ...session,
          async commit(batch) {
            const began = performance.now();
            let failure: ErrorCode | null = null;
            try {
              await session.commit(batch);
            } catch (error) {
              failure = error instanceof HighwaterError ? error.code : 'UNEXPECTED';
              throw error;
            } finally {
              tell({ kind: 'transaction', feed, failure, seconds: (performance.now() - began) / 1_000 });
            }
          },
          async release() {
            if (epochs.get(feed) === session.ownerEpoch) {
              epochs.delete(feed);
              listener.lost(feed);
            }
            await session.release();
          },
        };
      },
    },
  };
}

/** In ms: a publisher that ends waits this long for all its feeds. Then it gives up each feed that has ended. */
const HAND_OVER_MS = 1_000;

/** Gives feeds to other instances while another feed, whose commit hangs, keeps this one in the group. */
function earlyHandOver(membership: Membership, stop: AbortSignal) {
  const ended: string[] = [];
  let isLate = false;
  let timer: NodeJS.Timeout | undefined;
  const onStop = (): void => {
    timer = setTimeout(() => {
      isLate = true;
      for (const feed of ended) membership.decline(feed);
    }, HAND_OVER_MS);
  };
  stop.addEventListener('abort', onStop, { once: true });
  return {
    ended(feed: string): void {
      ended.push(feed);
      if (isLate) membership.decline(feed);
    },
    close(): void {
      stop.removeEventListener('abort', onStop);
      clearTimeout(timer);
    },
  };
}
