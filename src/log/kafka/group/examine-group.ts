import type { Kafka } from 'kafkajs';
import { unlessAborted } from '../../../async/wait';
import { HighwaterError } from '../../../errors';
import type { CommandTarget } from '../connection/admin-commands';
import { readingCluster } from '../connection/cluster';
import { kafkaFailure, protocolType } from '../connection/kafka-failure';
import type { Coordinator } from './coordinator';
import { assignmentOf } from './owners';
import { decodeMember, PROTOCOL } from './protocol';
import { endForeign, refusalOf } from './refusals';
import { type DescribedMember, isElsewhere, settledMembers } from './settled-members';

export interface ExamineGroup {
  readonly kafka: Kafka;
  readonly cluster: CommandTarget;
  readonly groupId: string;
  readonly sessionTimeoutMs: number;
  readonly signal: AbortSignal;
}

/** One instance, and the feeds that it has: none while it waits. */
export interface InstanceReport {
  readonly instance: string;
  readonly feeds: readonly string[];
}

/**
 * Whether an instance could join the group, and who is in it. It joins under a member id that nobody was given: the brokers check
 * permission, session timeout and protocol, and then refuse it, so that no member notices. No group comes to be by it, nor the
 * topic in which the brokers keep groups.
 * @returns null: no broker coordinates the group; there is none then
 * @throws HighwaterError KAFKA_*, CONFIG_INVALID (session timeout), LOG_FAILED (members of other programs; does not settle);
 * the signal's reason
 */
export async function examineGroup(examine: ExamineGroup): Promise<readonly InstanceReport[] | null> {
  const { kafka, cluster, groupId, sessionTimeoutMs, signal } = examine;
  const named = (error: unknown, doing: string, operation: 'READ' | 'DESCRIBE') =>
    kafkaFailure(error, doing, { operation, topics: [], groupId, cluster });
  const joining = `joining the group ${groupId}`;
  const refusal = await unlessAborted(whyNotJoin(examine), signal).catch((error: unknown) => {
    signal.throwIfAborted();
    throw named(error, joining, 'READ');
  });
  if (refusal === 'no coordinator') return null;
  const refused = refusalOf(refusal, joining, groupId, sessionTimeoutMs);
  if (refused?.code === 'CONFIG_INVALID') throw refused;
  if (refused === null && refusal !== null) throw named(refusal, joining, 'READ');
  const members = await settledMembers(kafka, groupId, signal).catch((error: unknown) => {
    signal.throwIfAborted();
    throw named(error, `asking who is in the group ${groupId}`, 'DESCRIBE');
  });
  const foreign = members.filter((member) => instanceOf(member) === null);
  if (foreign.length > 0) {
    const who = foreign.map(({ clientId, clientHost }) => `${clientId} at ${clientHost.replace(/^\//, '')}`);
    const what = `members of another program are in the group ${groupId}: ${who.join(', ')}`;
    throw new HighwaterError('LOG_FAILED', what, { remedy: endForeign(groupId) });
  }
  if (refused !== null) throw refused;
  return members.map((member) => instanceOf(member)!).sort((a, b) => (a.instance < b.instance ? -1 : 1));
}

/** @returns the coordinator's answer to a join; null: a member is welcome */
async function whyNotJoin({ kafka, groupId, sessionTimeoutMs }: ExamineGroup): Promise<unknown> {
  const cluster = readingCluster(kafka) as unknown as AskedCluster;
  try {
    await cluster.connect();
    await cluster.refreshMetadata();
    // To look for the coordinator would make the topic of the groups: each broker knows whether it is the one.
    for (const nodeId of cluster.getNodeIds()) {
      const broker = await cluster.findBroker({ nodeId });
      const answer = await broker.joinGroup(nobody(groupId, sessionTimeoutMs)).then(
        () => new Error(`the brokers took the member ${NOBODY}, to whom they never gave an id`),
        (error: unknown) => error,
      );
      if (protocolType(answer) === 'UNKNOWN_MEMBER_ID') return null;
      if (!isElsewhere(answer)) return answer;
    }
    return 'no coordinator';
  } finally {
    cluster.disconnect().catch(() => undefined);
  }
}

interface AskedCluster {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  refreshMetadata(): Promise<void>;
  getNodeIds(): string[];
  findBroker(node: { readonly nodeId: string }): Promise<Pick<Coordinator, 'joinGroup'>>;
}

const NOBODY = 'highwater-doctor';

function nobody(groupId: string, timeoutMs: number): Parameters<Coordinator['joinGroup']>[0] {
  return {
    groupId,
    memberId: NOBODY,
    sessionTimeout: timeoutMs,
    rebalanceTimeout: timeoutMs,
    groupProtocols: [{ name: PROTOCOL, metadata: Buffer.alloc(0) }],
  };
}

/** Null of another program. */
function instanceOf(member: DescribedMember): InstanceReport | null {
  try {
    const { instance } = decodeMember(member.memberId, member.memberMetadata);
    return { instance, feeds: assignmentOf(member)?.feeds ?? [] };
  } catch {
    return null;
  }
}
