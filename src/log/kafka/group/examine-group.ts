import type { Kafka, MemberDescription } from 'kafkajs';
import { retrying } from '../../../async/retrying';
import { unlessAborted, untilAny } from '../../../async/wait';
import { HighwaterError } from '../../../errors';
import { type Broker, brokerIds, withCluster } from '../connection/cluster';
import { isProtocolError, isUnreachable, kafkaFailure } from '../connection/kafka-failure';
import { type Coordinator, CoordinatorLink } from './coordinator';
import { decodeFeeds, decodeInstance, OWNERS_PROTOCOL } from './owners-protocol';
import { endForeign, type Joining, joinFailure } from './refusals';

interface AskedGroup extends Omit<Joining, 'sessionTimeoutMs'> {
  readonly kafka: Kafka;
  readonly signal: AbortSignal;
}

/** An instance, and the feeds that it has: none while it waits. */
export interface InstanceReport {
  readonly instance: string;
  readonly feeds: readonly string[];
}

/**
 * Whether an instance could join the group, and which instances are in it. It joins under a member id that the brokers never gave.
 * They check permission, session timeout and protocol, and then refuse the id. No member notices. This creates neither the group
 * nor the topic in which the brokers keep groups.
 * @returns null: no broker coordinates the group, so there is none
 * @throws HighwaterError KAFKA_*, CONFIG_INVALID (session timeout), LOG_FAILED (members of other programs; does not settle);
 * the signal's reason
 */
export async function examineGroup(examine: AskedGroup & Joining): Promise<readonly InstanceReport[] | null> {
  const { groupId, signal } = examine;
  const answer = await unlessAborted(whyNotJoin(examine), signal).catch((error: unknown) => {
    signal.throwIfAborted();
    throw joinFailure(error, examine).failure;
  });
  if (answer === 'no coordinator') return null;
  const { failure, refusal } = joinFailure(answer, examine);
  if (refusal?.code === 'CONFIG_INVALID') throw refusal;
  if (refusal === null && answer !== null) throw failure;
  const members = await membersOf(examine);
  const foreign = members.filter((member) => instanceOf(member) === null);
  if (foreign.length > 0) {
    const who = foreign.map(({ clientId, clientHost }) => `${clientId} at ${clientHost.replace(/^\//, '')}`);
    const what = `members of another program are in the group ${groupId}: ${who.join(', ')}`;
    throw new HighwaterError('LOG_FAILED', what, { remedy: endForeign(groupId) });
  }
  if (refusal !== null) throw refusal;
  return members.map((member) => instanceOf(member)!).sort((a, b) => (a.instance < b.instance ? -1 : 1));
}

/** @returns the coordinator's answer to a join; null: a member is welcome */
async function whyNotJoin({ kafka, groupId, sessionTimeoutMs }: AskedGroup & Joining): Promise<unknown> {
  return withCluster(kafka, async (cluster) => {
    await cluster.connect();
    await cluster.refreshMetadata();
    const nobody = {
      groupId,
      memberId: NOBODY,
      sessionTimeout: sessionTimeoutMs,
      rebalanceTimeout: sessionTimeoutMs,
      groupProtocols: [{ name: OWNERS_PROTOCOL, metadata: Buffer.alloc(0) }],
    };
    // Looking for the coordinator would create the topic of the groups. Each broker knows whether it is the coordinator.
    for (const nodeId of brokerIds(cluster)) {
      const broker = (await cluster.findBroker({ nodeId })) as Broker & Coordinator;
      const answer = await broker.joinGroup(nobody).then(
        () => new Error(`the brokers accepted the member id ${NOBODY}, which they never gave`),
        (error: unknown) => error,
      );
      if (isProtocolError(answer, 'UNKNOWN_MEMBER_ID')) return null;
      if (!isProtocolError(answer, ...ELSEWHERE)) return answer;
    }
    return 'no coordinator';
  });
}

const NOBODY = 'highwater-doctor';

/** @returns null if the member is of another program */
function instanceOf(member: MemberDescription): InstanceReport | null {
  try {
    const { instance } = decodeInstance(member);
    return { instance, feeds: decodeFeeds(member.memberAssignment).feeds };
  } catch {
    return null;
  }
}

/**
 * Which instance has each feed, as the coordinator of the group knows it. Asks without joining.
 * @throws HighwaterError KAFKA_*, LOG_FAILED, also if the group does not settle; the signal's reason
 */
export async function groupOwners(asking: AskedGroup): Promise<ReadonlyMap<string, string>> {
  const owners = (await membersOf(asking)).flatMap(({ memberAssignment }) => {
    try {
      // Each member was told about all of them.
      return Object.entries(decodeFeeds(memberAssignment).owners);
    } catch {
      return [];
    }
  });
  return new Map(owners);
}

/** How long a group may take to settle, and its coordinator to be found, in ms. */
const SETTLE_MS = 15_000;
const AGAIN_MS = 100;

/**
 * The members of a group, once it has settled. Asks without joining. If the coordinator is away or moves, asks its successor.
 * @throws HighwaterError KAFKA_*, LOG_FAILED, also when the group does not settle; the signal's reason
 */
async function membersOf(asking: AskedGroup): Promise<readonly MemberDescription[]> {
  const { kafka, target, groupId, signal } = asking;
  const late = AbortSignal.timeout(SETTLE_MS);
  const link = new CoordinatorLink(kafka, groupId);
  let last: unknown = unsettled(groupId, 'its coordinator does not answer');
  const ask = async (either: AbortSignal) => {
    const coordinator = await unlessAborted(link.connect(), either);
    const answer = await unlessAborted(coordinator.describeGroups({ groupIds: [groupId] }), either);
    const { state, members } = answer.groups[0]!;
    if (members.length > 0 && state !== 'Stable') throw unsettled(groupId, state);
    return members;
  };
  try {
    return await untilAny([signal, late], (either) =>
      retrying(() => ask(either), {
        signal: either,
        forMs: SETTLE_MS,
        pauseMs: AGAIN_MS,
        isWorthIt: (error) =>
          error instanceof HighwaterError ||
          isProtocolError(error, ...ELSEWHERE, 'GROUP_LOAD_IN_PROGRESS') ||
          isUnreachable(error),
        recover(error) {
          last = error;
          if (!(error instanceof HighwaterError)) link.drop();
        },
      }),
    );
  } catch (error) {
    signal.throwIfAborted();
    const asked = { operation: 'DESCRIBE', topics: [], groupId, cluster: target } as const;
    const failure = late.aborted ? last : error;
    throw kafkaFailure(failure, `asking for the members of the group ${groupId}`, asked);
  } finally {
    link.drop();
  }
}

/** A broker says that it does not coordinate a group: another broker does, or none does by now. */
const ELSEWHERE = ['NOT_COORDINATOR_FOR_GROUP', 'GROUP_COORDINATOR_NOT_AVAILABLE'] as const;

function unsettled(groupId: string, state: string): HighwaterError {
  const what = `the group ${groupId} has not settled within ${SETTLE_MS / 1_000} s (${state})`;
  return new HighwaterError('LOG_FAILED', what, {
    now: 'Nothing was changed.',
    remedy:
      'Try again: instances may be coming and going. If that does not help, look into the logs of the instances and of the brokers.',
  });
}
