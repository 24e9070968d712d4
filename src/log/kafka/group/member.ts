import type { Kafka } from 'kafkajs';
import type { Logger } from '../../../logger';
import { joinSignals, pause, unlessAborted, unlessLate } from '../../../wait';
import { protocolType } from '../kafka-failure';
import { assignFeeds, type Member } from './assignment';
import { type Coordinator, connectGroup, type GroupConnection, type Joined } from './coordinator';
import { hasEnded } from './process-identity';
import {
  decodeAssignment,
  decodeMember,
  encodeAssignment,
  encodeMember,
  PROTOCOL,
  type TopicOf,
} from './protocol';

/** What a member was given. It holds until the next one. */
export interface Place {
  readonly memberId: string;
  readonly generation: number;
  readonly feeds: readonly string[];
  /** Every feed of the group → the instance that has it. */
  readonly owners: Readonly<Record<string, string>>;
}

export interface MemberDeps {
  readonly kafka: Kafka;
  readonly groupId: string;
  /** After so long without a sign of life the others go on without this member, in ms. */
  readonly sessionTimeoutMs: number;
  readonly logger: Logger;
  readonly topicOf: TopicOf;
  /** Asked at every join. */
  introduction(): Omit<Member, 'memberId'>;
  /** The group has settled. */
  placed(place: Place): void;
  /** The place was confirmed by an answer to something asked after `marked`. */
  confirmed(marked: number): void;
  /** The group cannot be reached, and is asked again. @returns whether only a person can mend that */
  failed(error: unknown): boolean;
}

export interface GroupMember {
  /** Asks now whether the place still holds. @returns the mark by which `confirmed` tells of the answer */
  ask(): number;
  /** Joins again, to introduce itself anew. */
  rejoin(): void;
  leave(): Promise<void>;
}

const LEAVE_MS = 3_000;
const CONNECT_MS = 10_000;
const MOST_PAUSE_MS = 2_000;
const MOST_REFUSED_PAUSE_MS = 60_000;

/**
 * Keeps a place in a group until it leaves: joins, and where it leads, divides the feeds; gives signs of life; joins again
 * when the others come and go, when the group went on without it, and when the coordinator is another.
 */
export function joinGroup(deps: MemberDeps): GroupMember {
  const { kafka, groupId, sessionTimeoutMs, logger, topicOf } = deps;
  /** Three may be lost. */
  const heartbeatMs = Math.min(1_000, sessionTimeoutMs / 8);
  const answerMs = Math.round(sessionTimeoutMs / 3);
  const leaving = new AbortController();
  let connection: GroupConnection | null = null;
  let memberId = '';
  /** A broker that holds back the answer to a join answers nothing else on that connection. */
  let isJoining = false;
  /** Of a member that has no id yet: it is told only with the answer. */
  let firstJoin: Promise<string> | null = null;
  let asked = 0;
  let confirmed = 0;
  let isToRejoin = false;
  let wake = new AbortController();

  const living = live();

  async function live(): Promise<void> {
    for (let failures = 0; !leaving.signal.aborted; ) {
      try {
        connection ??= connectGroup(kafka, groupId);
        const coordinator = await inTime(connection.coordinator(), CONNECT_MS);
        // A coordinator that hangs is found out by a question that is answered soon; a join may take its time.
        await removeGhosts(coordinator);
        const generation = await takePlace(coordinator);
        failures = 0;
        await keepPlace(coordinator, generation);
      } catch (error) {
        if (leaving.signal.aborted) return;
        const type = protocolType(error);
        logger.debug('the place in the group is to be taken anew', { groupId, memberId, failures, error });
        if (type === 'UNKNOWN_MEMBER_ID') memberId = '';
        if (type !== null && regrouping.has(type) && failures < 3) {
          failures++;
          continue;
        }
        connection?.drop();
        connection = null;
        failures++;
        // Brokers lock out who comes again and again with a wrong password.
        const [first, most] = deps.failed(error) ? [1_000, MOST_REFUSED_PAUSE_MS] : [50, MOST_PAUSE_MS];
        await pause(Math.min(most, first * 2 ** failures), leaving.signal);
      }
    }
  }

  /** A join waits for all members, and the group cannot know that one was killed; on its own machine that can be seen. */
  async function removeGhosts(coordinator: Coordinator): Promise<void> {
    const { groups } = await inTime(coordinator.describeGroups({ groupIds: [groupId] }), answerMs);
    for (const { memberId: id, memberMetadata } of groups.flatMap(({ members }) => members)) {
      if (!isOfEnded(id, memberMetadata)) continue;
      logger.debug('a member whose process has ended is taken out of the group', { groupId, memberId: id });
      // Another one may have taken it out already.
      await inTime(coordinator.leaveGroup({ groupId, memberId: id }), answerMs).catch((error: unknown) => {
        if (protocolType(error) !== 'UNKNOWN_MEMBER_ID') throw error;
      });
    }
  }

  /** @returns the generation in which the group has settled */
  async function takePlace(coordinator: Coordinator): Promise<number> {
    const mark = asked;
    const joined = await join(coordinator);
    const { generationId: generation } = joined;
    memberId = joined.memberId;
    const given = coordinator.syncGroup({
      ...{ groupId, generationId: generation, memberId },
      groupAssignment: joined.leaderId === memberId ? divide(joined) : [],
    });
    // The leader may have died over its division: the coordinator then tells everybody to join again.
    const { memberAssignment } = await inTime(given, 2 * sessionTimeoutMs);
    const { feeds, owners } = decodeAssignment(memberAssignment);
    leaving.signal.throwIfAborted();
    deps.placed({ memberId, generation, feeds, owners });
    confirm(mark);
    return generation;
  }

  async function join(coordinator: Coordinator): Promise<Joined> {
    isToRejoin = false;
    const metadata = encodeMember(deps.introduction(), topicOf);
    isJoining = true;
    const joining = coordinator.joinGroup({
      ...{ groupId, memberId, sessionTimeout: sessionTimeoutMs, rebalanceTimeout: sessionTimeoutMs },
      groupProtocols: [{ name: PROTOCOL, metadata }],
    });
    if (memberId === '') {
      firstJoin = joining.then((answer) => answer.memberId);
      firstJoin.catch(() => undefined);
    }
    // Answered when all have joined, or are given up; an empty group waits for others first, as long as its brokers like.
    const joined = await inTime(joining, 2 * sessionTimeoutMs + 10_000).catch((error: unknown) => {
      isJoining = leaving.signal.aborted;
      throw error;
    });
    isJoining = false;
    firstJoin = null;
    return joined;
  }

  function divide({ members }: Joined): { memberId: string; memberAssignment: Buffer }[] {
    const known = members.map(({ memberId: id, memberMetadata }) => readMember(id, memberMetadata));
    const instances = new Map(known.map(({ memberId: id, instance }) => [id, instance]));
    const given = assignFeeds(known);
    const owners = Object.fromEntries(
      [...given].flatMap(([id, feeds]) => feeds.map((feed) => [feed, instances.get(id)!])),
    );
    return [...given].map(([id, feeds]) => ({
      memberId: id,
      memberAssignment: encodeAssignment({ feeds, owners }, topicOf),
    }));
  }

  /** One that cannot be understood gets nothing, and does not keep the others from theirs. */
  function readMember(id: string, metadata: Buffer): Member {
    try {
      return decodeMember(id, metadata);
    } catch (error) {
      logger.warn(
        `The member ${id} of group ${groupId} is of another program or version; it gets no feeds.`,
        { error },
      );
      return {
        ...deps.introduction(),
        memberId: id,
        instance: id,
        feeds: [],
        claims: { memberId: '', feeds: {} },
      };
    }
  }

  async function keepPlace(coordinator: Coordinator, generation: number): Promise<void> {
    for (;;) {
      wake = new AbortController();
      // What was asked since the last answer does not wait.
      if (asked === confirmed) {
        const either = joinSignals([leaving.signal, wake.signal]);
        await pause(heartbeatMs, either.signal);
        either.leave();
      }
      leaving.signal.throwIfAborted();
      if (isToRejoin) return;
      const mark = asked;
      await inTime(coordinator.heartbeat({ groupId, groupGenerationId: generation, memberId }), answerMs);
      confirm(mark);
    }
  }

  function confirm(mark: number): void {
    confirmed = mark;
    deps.confirmed(mark);
  }

  function inTime<T>(work: Promise<T>, ms: number): Promise<T> {
    const late = () =>
      new Error(`Connection timeout: the coordinator of group ${groupId} did not answer within ${ms} ms`);
    return unlessLate(work, ms, leaving.signal, late);
  }

  return {
    ask() {
      asked++;
      wake.abort();
      return asked;
    },
    rejoin() {
      isToRejoin = true;
      wake.abort();
    },
    async leave() {
      leaving.abort();
      await living;
      const bounded = AbortSignal.timeout(LEAVE_MS);
      // A member that the group waits for would be given feeds.
      if (isJoining && firstJoin !== null)
        memberId = await unlessAborted(firstJoin, bounded).catch(() => memberId);
      if (isJoining) {
        connection?.drop();
        connection = null;
      }
      try {
        if (memberId === '') return;
        connection ??= connectGroup(kafka, groupId);
        const coordinator = await unlessAborted(connection.coordinator(), bounded);
        await unlessAborted(coordinator.leaveGroup({ groupId, memberId }), bounded);
        if (deps.introduction().isGuest) await unlessAborted(coordinator.deleteGroups([groupId]), bounded);
      } catch (error) {
        // Others remain, or it may not be deleted, or nobody answers: the session ends by itself then.
        logger.debug('the group was not left in order', { groupId, memberId, error });
      } finally {
        connection?.drop();
      }
    },
  };
}

/** A member of another program, or one that has not joined yet, has nothing to read. */
function isOfEnded(id: string, metadata: Buffer): boolean {
  try {
    return hasEnded(decodeMember(id, metadata).process);
  } catch {
    return false;
  }
}

/** The group goes on, with this member or without: it joins again at once. */
const regrouping = new Set(['REBALANCE_IN_PROGRESS', 'ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID']);
