import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { sharedController, unlessAborted } from '../../async/wait';
import { HighwaterError } from '../../errors';
import { Outage } from '../../logging/outage';
import type { CommitLog, FeedSession, FeedTopics } from '../commit-log';
import type { Grant, Membership } from '../membership';
import { allTopics, isCompacted } from '../topics';
import { assertReadable } from './admin/examine';
import { prepareTopics, type TopicLayout, verifyTopics } from './admin/topic-settings';
import { kafkaClient } from './connection/client';
import { drop, readingCluster } from './connection/cluster';
import { compressionType } from './connection/compression';
import { isRefusedProducer, kafkaFailure } from './connection/kafka-failure';
import { groupMembership, SESSION_TIMEOUT_MS } from './group/membership';
import { ownersGroup } from './group/owners-protocol';
import { type KafkaReaderOptions, kafkaReader } from './kafka-reader';
import { type LogLimits, openSession } from './ownership/session';
import { appender } from './shared-topics';

export interface KafkaLogOptions extends KafkaReaderOptions {
  readonly limits?: Partial<LogLimits>;
}

const defaultLimits: LogLimits = {
  outcomeMs: 60_000,
  stallMs: 60_000,
  groupMs: 10_000,
  settingsMs: 60_000,
};

/** The log on Kafka. Opens no connection before the first call that needs one. */
export function openKafkaLog(options: KafkaLogOptions): CommitLog {
  const { appId, topicPrefix, logger } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const kafka = kafkaClient(options.kafka, appId, logger, options.onThrottled);
  const closing = sharedController();
  const shared = appender(kafka, options.kafka, closing.signal);
  const sessions = new Set<FeedSession>();
  const memberships = new Set<Membership>();
  /** By feed: the acquisition that began last. Never rejects. */
  const acquiring = new Map<string, Promise<unknown>>();
  /** Risky settings of topics that were reported already: a feed may be acquired often. */
  const warned = new Set<string>();

  const groupId = ownersGroup(appId, topicPrefix);
  // Neither name contains a colon, so no other installation has the same id.
  const transactionalId = (feed: string) => `${appId}:${topicPrefix}${feed}`;

  async function acquire(topics: FeedTopics, signal: AbortSignal, grant?: Grant): Promise<FeedSession> {
    const { feed } = topics;
    const compacted = allTopics(topics)
      .filter(isCompacted)
      .map(({ name }) => name);
    const examining = { kafka, cluster: options.kafka, signal, logger, warned };
    const layouts = await prepareTopics(topics, examining);
    const partitions = new Map([...layouts].map(([name, layout]) => [name, layout.partitions]));
    signal.throwIfAborted();
    const cluster = readingCluster(kafka);
    try {
      await cluster.connect();
      await cluster.addMultipleTargetTopics([...partitions.keys()]);
      await assertReadable(cluster, compacted, `reading the state of feed ${feed}`, options.kafka);
      signal.throwIfAborted();
      const session = await openSession({
        kafka,
        cluster,
        topics,
        partitions,
        logger,
        limits,
        signal,
        grant,
        compacted,
        target: options.kafka,
        transactionalId: transactionalId(feed),
        ownerEpoch: randomUUID(),
        maxRecordBytes: largestRecord(topics, layouts),
        async verify(stopped) {
          const found = await verifyTopics(topics, { ...examining, signal: stopped });
          return found && largestRecord(topics, found);
        },
        compression: compressionType(options.kafka.compression),
        released: (released) => void sessions.delete(released),
      });
      sessions.add(session);
      return session;
    } catch (error) {
      drop(cluster);
      throw error;
    }
  }

  return {
    join(feeds, joinOptions) {
      const offsets = new Map(feeds.map(({ feed, sourceOffset }) => [feed, sourceOffset.name]));
      const membership = groupMembership([...offsets.keys()], joinOptions, {
        kafka,
        groupId,
        logger,
        target: options.kafka,
        sessionTimeoutMs: options.kafka.sessionTimeoutMs ?? SESSION_TIMEOUT_MS,
        topicOf: (feed) => offsets.get(feed) ?? `${topicPrefix}${feed}.source-offset`,
        patienceMs: limits.groupMs,
      });
      memberships.add(membership);
      return membership;
    },
    async acquire(topics, signal, grant) {
      signal.throwIfAborted();
      closing.signal.throwIfAborted();
      // Partitions are read side by side, and each read waits on it.
      setMaxListeners(0, signal);
      const outage = new Outage(`Taking over feed ${topics.feed}`, logger);
      outage.began();
      try {
        // An acquisition that was given up and still runs would fence this one.
        await unlessAborted(acquiring.get(topics.feed) ?? Promise.resolve(), signal);
        const session = acquire(topics, signal, grant);
        acquiring.set(
          topics.feed,
          session.catch(() => undefined),
        );
        const acquired = await unlessAborted(session, signal, (abandoned) => abandoned.release());
        outage.over();
        return acquired;
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof HighwaterError) throw error;
        if (isRefusedProducer(error)) {
          const what = `another publisher took feed ${topics.feed} over while this one did`;
          throw new HighwaterError('LOG_FENCED', what, { cause: error });
        }
        throw kafkaFailure(error, `taking over feed ${topics.feed}`, {
          operation: 'WRITE',
          cluster: options.kafka,
          transactionalId: transactionalId(topics.feed),
          topics: allTopics(topics).map(({ name }) => name),
        });
      } finally {
        outage.end();
      }
    },
    append: shared.append,
    ...kafkaReader(options, kafka, closing.signal),
    async close() {
      if (closing.signal.aborted) return;
      closing.abort(new HighwaterError('LOG_CLOSED', 'the log was closed'));
      await Promise.all([shared.close(), ...[...sessions].map((session) => session.release())]);
      await Promise.all([...memberships].map((membership) => membership.leave()));
    },
  };
}

/** The limit of the topics that take the API's data. A source offset is small. */
function largestRecord(topics: FeedTopics, layouts: ReadonlyMap<string, TopicLayout>): number {
  const { changes, current, deadLetters, transitions } = topics;
  const names = [changes, current, deadLetters, ...transitions].map(({ name }) => name);
  return Math.min(...names.map((name) => layouts.get(name)!.maxRecordBytes));
}
