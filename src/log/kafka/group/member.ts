import type { Kafka } from 'kafkajs';
import { joinSignals, pause, unlessAborted, unlessLate } from '../../../async/wait';
import type { Logger } from '../../../logging/logger';
import { protocolType } from '../connection/kafka-failure';
import { type Coordinator, connectGroup, type GroupConnection, type Joined } from './coordinator';
import type { GroupProtocol } from './group-protocol';

export interface MemberDeps {
  readonly kafka: Kafka;
  readonly groupId: string;
  /** After so long without a sign of life the others go on without this member, in ms. */
  readonly sessionTimeoutMs: number;
  readonly logger: Logger;
  readonly protocol: GroupProtocol;
  /** The place was confirmed by an answer to something asked after `marked`. */
  confirmed(marked: number): void;
  /** The group cannot be reached, and is asked again. @returns whether only a person can fix that */
  failed(error: unknown): boolean;
}

export interface GroupMember {
  /** Asks now whether the place still holds. @returns the mark by which `confirmed` tells of the answer */
  ask(): number;
  /** Joins again, to introduce itself anew. */
  rejoin(): void;
  /** The broker that keeps the group; null while it is looked for. */
  coordinator(): Coordinator | null;
  leave(): Promise<void>;
}

const LEAVE_MS = 3_000;
const CONNECT_MS = 10_000;
const MOST_PAUSE_MS = 2_000;
const MOST_REFUSED_PAUSE_MS = 60_000;

/**
 * Keeps a place in a group until it leaves: joins, and where it leads, divides what there is; gives signs of life; joins again
 * when the others come and go, when the group went on without it, and when the coordinator is another. Where members have work
 * in hand, one whose connection broke asks first whether its place still holds: for each that joins all put their work down.
 */
export function joinGroup(deps: MemberDeps): GroupMember {
  const { kafka, groupId, sessionTimeoutMs, logger, protocol } = deps;
  /** Three may be lost. */
  const heartbeatMs = Math.min(1_000, sessionTimeoutMs / 8);
  const answerMs = Math.round(sessionTimeoutMs / 3);
  /** A coordinator that came back still knows who comes by then. */
  const mostPauseMs = Math.min(MOST_PAUSE_MS, sessionTimeoutMs / 4);
  const leaving = new AbortController();
  const link = new CoordinatorLink(kafka, groupId);
  const signs = new SignsOfLife();
  let memberId = '';
  /** Of the place that holds, as far as is known. */
  let generation: number | null = null;
  let failures = 0;
  let isEnding = false;
  /** A join without an answer: its connection brings no other answer. The first answer of all tells this member its id. */
  let joining: { readonly memberId: Promise<string> } | null = null;
  let isToRejoin = false;

  const living = live();

  async function live(): Promise<void> {
    while (!leaving.signal.aborted) {
      try {
        const coordinator = await inTime(link.connect(), CONNECT_MS);
        link.coordinator = coordinator;
        if (generation === null) {
          // A coordinator that hangs is found out by a question that is answered soon; a join may take its time.
          await removeGhosts(coordinator);
          generation = await takePlace(coordinator);
        }
        await keepPlace(coordinator, generation);
        vacate();
      } catch (error) {
        if (leaving.signal.aborted) return;
        const type = protocolType(error);
        const isRegrouping = type !== null && regrouping.has(type);
        logger.debug('the place in the group is to be taken anew', { groupId, memberId, failures, error });
        if (type === 'UNKNOWN_MEMBER_ID') memberId = '';
        if (isRegrouping || protocol.work === undefined) vacate();
        if (isRegrouping && failures < 3) {
          failures++;
          continue;
        }
        link.drop();
        failures++;
        // Brokers lock out who comes again and again with a wrong password.
        const [first, most] = deps.failed(error) ? [1_000, MOST_REFUSED_PAUSE_MS] : [50, mostPauseMs];
        await pause(Math.min(most, first * 2 ** failures), leaving.signal);
      }
    }
  }

  function vacate(): void {
    generation = null;
    protocol.work?.lost();
  }

  /** A join waits for all members, and the group cannot know that one was killed; on its own machine that can be seen. */
  async function removeGhosts(coordinator: Coordinator): Promise<void> {
    const { groups } = await inTime(coordinator.describeGroups({ groupIds: [groupId] }), answerMs);
    for (const member of groups.flatMap(({ members }) => members)) {
      if (!protocol.isGhost(member)) continue;
      const { memberId: id } = member;
      logger.debug('a member whose process has ended is taken out of the group', { groupId, memberId: id });
      // Another one may have taken it out already.
      await inTime(coordinator.leaveGroup({ groupId, memberId: id }), answerMs).catch((error: unknown) => {
        if (protocolType(error) !== 'UNKNOWN_MEMBER_ID') throw error;
      });
    }
  }

  /** @returns the generation in which the group has settled */
  async function takePlace(coordinator: Coordinator): Promise<number> {
    // What was in hand is finished: there is nothing more to come for it.
    if (isEnding) await unlessAborted(new Promise<never>(() => undefined), leaving.signal);
    const mark = signs.asked;
    const joined = await join(coordinator);
    const { generationId } = joined;
    memberId = joined.memberId;
    const isLeader = joined.leaderId === memberId;
    const given = coordinator.syncGroup({
      groupId,
      generationId,
      memberId,
      groupAssignment: isLeader ? await inTime(protocol.divide(joined.members), sessionTimeoutMs) : [],
    });
    // The leader may have died over its division: the coordinator then tells everybody to join again.
    const { memberAssignment } = await inTime(given, 2 * sessionTimeoutMs);
    leaving.signal.throwIfAborted();
    if (!isEnding) protocol.placed({ memberId, generation: generationId, assignment: memberAssignment });
    confirm(mark);
    return generationId;
  }

  async function join(coordinator: Coordinator): Promise<Joined> {
    isToRejoin = false;
    const { name, rebalanceTimeoutMs } = protocol;
    const metadata = protocol.introduction();
    const answer = coordinator.joinGroup({
      groupId,
      memberId,
      sessionTimeout: sessionTimeoutMs,
      rebalanceTimeout: rebalanceTimeoutMs,
      groupProtocols: [{ name, metadata }],
    });
    joining = { memberId: answer.then((joined) => joined.memberId) };
    joining.memberId.catch(() => undefined);
    // Answered when all have joined, or are given up; an empty group waits for others first, as long as its brokers like.
    const longest = sessionTimeoutMs + rebalanceTimeoutMs + 10_000;
    try {
      return await inTime(answer, longest);
    } finally {
      // One that leaves meanwhile still has to know which member it is.
      if (!leaving.signal.aborted) joining = null;
    }
  }

  async function keepPlace(coordinator: Coordinator, held: number): Promise<void> {
    for (;;) {
      const wake = signs.wakeForNext();
      // What was asked since the last answer does not wait.
      if (signs.asked === signs.confirmed) {
        const either = joinSignals([leaving.signal, wake]);
        await pause(heartbeatMs, either.signal);
        either.leave();
      }
      leaving.signal.throwIfAborted();
      if (isToRejoin) return finishWork(coordinator, held);
      try {
        await giveSign(coordinator, held);
      } catch (error) {
        if (isRebalancing(error)) await finishWork(coordinator, held);
        throw error;
      }
    }
  }

  async function giveSign(coordinator: Coordinator, held: number): Promise<void> {
    const mark = signs.asked;
    await inTime(coordinator.heartbeat({ groupId, groupGenerationId: held, memberId }), answerMs);
    confirm(mark);
  }

  /** As long as the session timeout: others wait for it. */
  async function finishWork(coordinator: Coordinator, held: number): Promise<void> {
    if (protocol.work === undefined) return;
    const finished = new AbortController();
    protocol.work.finish().finally(() => finished.abort());
    const giveUpAt = performance.now() + sessionTimeoutMs;
    const either = joinSignals([finished.signal, leaving.signal]);
    try {
      while (performance.now() < giveUpAt) {
        await pause(Math.min(heartbeatMs, giveUpAt - performance.now()), either.signal);
        leaving.signal.throwIfAborted();
        if (finished.signal.aborted) return;
        await giveSign(coordinator, held).catch((error: unknown) => {
          if (!isRebalancing(error)) throw error;
        });
      }
    } finally {
      either.leave();
    }
  }

  function confirm(mark: number): void {
    failures = 0;
    signs.confirmed = mark;
    deps.confirmed(mark);
  }

  function inTime<T>(work: Promise<T>, ms: number): Promise<T> {
    const late = () =>
      new Error(`Connection timeout: the coordinator of group ${groupId} did not answer within ${ms} ms`);
    return unlessLate(work, ms, leaving.signal, late);
  }

  return {
    ask: () => signs.ask(),
    rejoin() {
      isToRejoin = true;
      signs.wake();
    },
    coordinator: () => link.coordinator,
    async leave() {
      isEnding = true;
      // Signs of life go on meanwhile.
      if (protocol.work !== undefined) {
        const { signal } = new AbortController();
        await unlessLate(protocol.work.finish(), sessionTimeoutMs, signal, () => null).catch(() => undefined);
      }
      leaving.abort();
      await living;
      const bounded = AbortSignal.timeout(LEAVE_MS);
      // A member that the group waits for would be given feeds.
      if (joining !== null) {
        if (memberId === '') memberId = await unlessAborted(joining.memberId, bounded).catch(() => '');
        link.drop();
      }
      try {
        if (memberId === '') return;
        const coordinator = await unlessAborted(link.connect(), bounded);
        await unlessAborted(coordinator.leaveGroup({ groupId, memberId }), bounded);
        if (protocol.isPassing()) await unlessAborted(coordinator.deleteGroups([groupId]), bounded);
      } catch (error) {
        // Others remain, or it may not be deleted, or nobody answers: the session ends by itself then.
        logger.debug('the group was not left in order', { groupId, memberId, error });
      } finally {
        protocol.work?.lost();
        link.drop();
      }
    },
  };
}

/** The connection to the group's coordinator; a new one after each `drop`. */
class CoordinatorLink {
  /** The broker that keeps the group; null while it is looked for. */
  coordinator: Coordinator | null = null;
  private connection: GroupConnection | null = null;

  constructor(
    private readonly kafka: Kafka,
    private readonly groupId: string,
  ) {}

  connect(): Promise<Coordinator> {
    this.connection ??= connectGroup(this.kafka, this.groupId);
    return this.connection.coordinator();
  }

  drop(): void {
    this.connection?.drop();
    this.connection = null;
    this.coordinator = null;
  }
}

/** Which questions whether the place holds have been asked, by number, and which of them is answered. */
class SignsOfLife {
  asked = 0;
  confirmed = 0;
  private next = new AbortController();

  /** @returns the number of the question */
  ask(): number {
    this.asked++;
    this.wake();
    return this.asked;
  }

  /** The next sign of life does not wait. */
  wake(): void {
    this.next.abort();
  }

  /** @returns aborted when the next sign of life is not to wait */
  wakeForNext(): AbortSignal {
    this.next = new AbortController();
    return this.next.signal;
  }
}

function isRebalancing(error: unknown): boolean {
  return protocolType(error) === 'REBALANCE_IN_PROGRESS';
}

/** The group goes on, with this member or without: it joins again at once. */
const regrouping = new Set(['REBALANCE_IN_PROGRESS', 'ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID']);
