import type { Kafka, MemberDescription } from 'kafkajs';
import { retrying } from '../../../async/retrying';
import { joinSignals, unlessAborted } from '../../../async/wait';
import { HighwaterError } from '../../../errors';
import type { CommandTarget } from '../connection/admin-commands';
import { type Broker, withCluster } from '../connection/cluster';
import { isUnreachable, kafkaFailure, protocolType } from '../connection/kafka-failure';
import { type Coordinator, CoordinatorLink } from './coordinator';
import { decodeFeeds, decodeInstance, OWNERS_PROTOCOL } from './owners-protocol';
import { endForeign, joinFailure } from './refusals';

export interface AskGroup {
  readonly kafka: Kafka;
  readonly cluster: CommandTarget;
  readonly groupId: string;
  readonly signal: AbortSignal;
}

export interface ExamineGroup extends AskGroup {
  readonly sessionTimeoutMs: number;
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
export async function examineGroup(examine: ExamineGroup): Promise<readonly InstanceReport[] | null> {
  const { cluster, groupId, signal } = examine;
  const joining = { ...examine, target: cluster };
  const answer = await unlessAborted(whyNotJoin(examine), signal).catch((error: unknown) => {
    signal.throwIfAborted();
    throw joinFailure(error, joining).failure;
  });
  if (answer === 'no coordinator') return null;
  const { failure, refusal } = joinFailure(answer, joining);
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
async function whyNotJoin({ kafka, groupId, sessionTimeoutMs }: ExamineGroup): Promise<unknown> {
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
    for (const nodeId of cluster.getNodeIds()) {
      const broker = (await cluster.findBroker({ nodeId })) as Broker & Coordinator;
      const answer = await broker.joinGroup(nobody).then(
        () => new Error(`the brokers accepted the member id ${NOBODY}, which they never gave`),
        (error: unknown) => error,
      );
      if (protocolType(answer) === 'UNKNOWN_MEMBER_ID') return null;
      if (!isElsewhere(answer)) return answer;
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
export async function groupOwners(asking: AskGroup): Promise<ReadonlyMap<string, string>> {
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
async function membersOf({
  kafka,
  cluster,
  groupId,
  signal,
}: AskGroup): Promise<readonly MemberDescription[]> {
  const either = joinSignals([signal, AbortSignal.timeout(SETTLE_MS)]);
  const link = new CoordinatorLink(kafka, groupId);
  let last: unknown = unsettled(groupId, 'its coordinator does not answer');
  const ask = async () => {
    const coordinator = await unlessAborted(link.connect(), either.signal);
    const answer = await unlessAborted(coordinator.describeGroups({ groupIds: [groupId] }), either.signal);
    const { state, members } = answer.groups[0]!;
    if (members.length > 0 && state !== 'Stable') throw unsettled(groupId, state);
    return members;
  };
  try {
    return await retrying(ask, {
      signal: either.signal,
      forMs: SETTLE_MS,
      pauseMs: AGAIN_MS,
      isWorthIt: (error) => error instanceof HighwaterError || passes(error),
      recover(error) {
        last = error;
        if (!(error instanceof HighwaterError)) link.drop();
      },
    });
  } catch (error) {
    signal.throwIfAborted();
    const asked = { operation: 'DESCRIBE', topics: [], groupId, cluster } as const;
    const failure = either.signal.aborted ? last : error;
    throw kafkaFailure(failure, `asking for the members of the group ${groupId}`, asked);
  } finally {
    either.leave();
    link.drop();
  }
}

/** Whether a broker says that it does not coordinate a group: another broker does, or none does by now. */
function isElsewhere(error: unknown): boolean {
  return elsewhere.has(protocolType(error) ?? '');
}

const elsewhere = new Set(['NOT_COORDINATOR_FOR_GROUP', 'GROUP_COORDINATOR_NOT_AVAILABLE']);

function passes(error: unknown): boolean {
  return isElsewhere(error) || protocolType(error) === 'GROUP_LOAD_IN_PROGRESS' || isUnreachable(error);
}

function unsettled(groupId: string, state: string): HighwaterError {
  const what = `the group ${groupId} has not settled within ${SETTLE_MS / 1_000} s (${state})`;
  return new HighwaterError('LOG_FAILED', what, {
    now: 'Nothing was changed.',
    remedy:
      'Try again: instances may be coming and going. If that does not help, look into the logs of the instances and of the brokers.',
  });
}
