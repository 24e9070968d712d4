import { HighwaterError } from '../../../errors';
import type { ConsumerLog, GroupReport } from '../../consumer-log';
import { type Broker, byTopic, withCluster } from '../connection/cluster';
import { persistently } from '../connection/persistently';
import { type Coordinator, CoordinatorLink } from '../group/coordinator';
import type { ReadingDeps } from '../reader/reading';
import { hasOtherMembers, offsetToCommit, readMetadata } from './group-offsets';

/** How long brokers may be away, in ms. */
const PATIENCE_MS = 60_000;

/** Consumers have this type, and a group that never had a member has none. Workers of Kafka Connect have another one. */
const TYPES: ReadonlySet<string> = new Set(['consumer', '']);

export function kafkaGroups({ kafka, target }: ReadingDeps): Pick<ConsumerLog, 'groups' | 'moveGroup'> {
  return {
    groups: (prefix, signal) =>
      withCluster(kafka, (cluster) => {
        const ask = async () => {
          await cluster.connect();
          await cluster.refreshMetadata();
          const brokers = cluster.getNodeIds().map((nodeId) => cluster.findBroker({ nodeId }));
          return (await Promise.all(brokers.map(async (broker) => groupsOf(await broker, prefix)))).flat();
        };
        return persistently(ask, { cluster, doing: 'asking for the groups', forMs: PATIENCE_MS, signal });
      }),
    async moveGroup(groupId, places, signal) {
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
      await persistently(commit, {
        doing: `moving the group ${groupId}`,
        asked: { operation: 'READ', topics: names, groupId, cluster: target },
        forMs: PATIENCE_MS,
        signal,
        recover: async () => link.drop(),
      }).finally(() => link.drop());
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
