import { joinSignals, sharedController, untilAny } from '../../async/wait';
import { HighwaterError } from '../../errors';
import { Outage } from '../../logging/outage';
import type { LogRecord } from '../commit-log';
import type { ConsumerLog, GroupMember, GroupReport } from '../consumer-log';
import { kafkaClient } from './connection/client';
import { type Broker, brokerIds, byTopic, withCluster } from './connection/cluster';
import { persistently } from './connection/persistently';
import { joinConsumerGroup } from './consumer/consumer-group';
import { hasOtherMembers, offsetToCommit, readMetadata } from './consumer/group-offsets';
import { type Coordinator, CoordinatorLink } from './group/coordinator';
import type { KafkaReaderOptions } from './kafka-reader';
import { LeaderlessNotes } from './reader/leaderless';
import { read } from './reader/read';
import type { ReadingDeps } from './reader/reading';
import { load, topicEnds } from './reader/restore';
import { appender } from './shared-topics';

/** How long brokers may be away, in ms. */
const PATIENCE_MS = 60_000;

/** The same for an overview, which people wait for. */
const OVERVIEW_MS = 10_000;

/** Consumers have this type, and a group that never had a member has none. Workers of Kafka Connect have another one. */
const TYPES: ReadonlySet<string> = new Set(['consumer', '']);

/** Kafka's topics for consumers. Opens no connection before the first call that needs one. Topics and groups are named in full here. */
export function openKafkaConsumerLog({ kafka: target, appId, logger }: KafkaReaderOptions): ConsumerLog {
  const kafka = kafkaClient(target, appId, logger);
  const closing = sharedController();
  const shared = appender(kafka, target, closing.signal);
  const members = new Set<GroupMember>();
  const deps: ReadingDeps = { kafka, target, logger };

  /** The signal also ends with the log. @throws HighwaterError LOG_CLOSED */
  async function within<T>(signal: AbortSignal, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
    closing.signal.throwIfAborted();
    return untilAny([signal, closing.signal], ask);
  }

  return {
    missing: () => null,
    ends: (topic, at, signal) => within(signal, (either) => topicEnds(topic, at, either, deps)),
    async *load(topic, signal, isCompacted = false): AsyncGenerator<LogRecord> {
      closing.signal.throwIfAborted();
      const either = joinSignals([signal, closing.signal]);
      try {
        yield* load(topic, either.signal, isCompacted, deps);
      } finally {
        either.leave();
      }
    },
    async *follow(topic, from, signal, topicId = null) {
      closing.signal.throwIfAborted();
      const options = { fromBeginning: false, follow: true, signal, exact: { from, topicId } };
      const notes = new LeaderlessNotes(logger);
      yield* read([topic], options, { ...deps, notes, closing: closing.signal });
    },
    groups: (prefix, signal) =>
      within(signal, (either) => {
        // By new connections each time: to look for leaders again on old ones takes half a minute if the brokers hang.
        const ask = () =>
          withCluster(kafka, async (cluster) => {
            await cluster.connect();
            await cluster.refreshMetadata();
            const brokers = brokerIds(cluster).map((nodeId) => cluster.findBroker({ nodeId }));
            return (await Promise.all(brokers.map(async (broker) => groupsOf(await broker, prefix)))).flat();
          });
        const outage = new Outage(`Asking the brokers ${target.brokers.join(', ')} for the groups`, logger);
        return persistently(ask, {
          doing: 'asking for the groups',
          forMs: OVERVIEW_MS,
          signal: either,
          outage,
        });
      }),
    moveGroup: (groupId, places, signal) =>
      within(signal, (either) => {
        const link = new CoordinatorLink(kafka, groupId);
        const topics = byTopic(places, offsetToCommit);
        const commit = async (): Promise<void> => {
          const coordinator = await link.connect();
          // A commit of no member, which is refused while the group has one.
          const request = { groupId, groupGenerationId: -1, memberId: '', topics };
          await coordinator.offsetCommit(request).catch((cause: unknown) => {
            if (!hasOtherMembers(cause)) throw cause;
            throw new HighwaterError('GROUP_IN_USE', `the group ${groupId} has live members`, { cause });
          });
        };
        const names = topics.map(({ topic }) => topic);
        return persistently(commit, {
          doing: `moving the group ${groupId}`,
          asked: { operation: 'READ', topics: names, groupId, cluster: target },
          forMs: PATIENCE_MS,
          signal: either,
          recover: async () => link.drop(),
        }).finally(() => link.drop());
      }),
    joinGroup(group) {
      closing.signal.throwIfAborted();
      const member = joinConsumerGroup(group, deps);
      members.add(member);
      const left = async () => {
        await member.leave();
        members.delete(member);
        if (members.size === 0) shared.rest();
      };
      member.over.then(left, left);
      return member;
    },
    append: shared.append,
    async close() {
      closing.abort(new HighwaterError('LOG_CLOSED', 'the log was closed'));
      await Promise.all([...members].map((member) => member.leave()));
      await shared.close();
    },
  };
}

/** The groups that a broker coordinates. */
async function groupsOf(broker: Broker, prefix: string): Promise<readonly GroupReport[]> {
  const coordinator = broker as Broker & Pick<Coordinator, 'describeGroups' | 'offsetFetch'>;
  const { groups } = await broker.listGroups();
  const reports: GroupReport[] = [];
  for (const { groupId, protocolType } of groups) {
    if (!groupId.startsWith(prefix) || !TYPES.has(protocolType)) continue;
    const [described] = (await coordinator.describeGroups({ groupIds: [groupId] })).groups;
    // For kafkajs an empty list stands for all topics.
    const { responses } = await coordinator.offsetFetch({ groupId, topics: [] });
    const places = responses.flatMap(({ topic, partitions }) =>
      partitions.map(({ partition, offset, metadata }) => {
        const { note } = readMetadata(metadata);
        return { topic, partition, next: Number(offset), note };
      }),
    );
    // The group of the publishers never has any.
    if (places.length === 0) continue;
    // Members of a group of Kafka's later protocol are not shown here.
    const { state, members } = described!;
    reports.push({ groupId, members: state === 'Dead' ? null : members.length, places });
  }
  return reports;
}
