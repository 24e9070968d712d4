import type { Kafka } from 'kafkajs';
import { pause, unlessAborted, unlessLate, untilAny } from '../../../async/wait';
import type { Logger } from '../../../logging/logger';
import { isProtocolError } from '../connection/kafka-failure';
import { type Coordinator, CoordinatorLink, type Joined } from './coordinator';
import { type Assigned, isGhost, type JoinedMember, type MemberPlace } from './member-data';

/** The group, and how its members share its work. The member's loop carries that and does not look inside. */
export interface MemberDeps {
  readonly kafka: Kafka;
  readonly groupId: string;
  /** After this long without a sign of life the others go on without this member, in ms. */
  readonly sessionTimeoutMs: number;
  readonly logger: Logger;
  /** Members that speak no protocol in common cannot be in one group. */
  readonly protocol: string;
  /** How long the group waits for members to join again, in ms. It does not wait for a member without signs of life. */
  readonly rebalanceTimeoutMs: number;
  /** Asked at every join. */
  introduction(): Buffer;
  /** Asked of the member that leads the group. */
  divide(members: readonly JoinedMember[]): Promise<readonly Assigned[]>;
  /** The group has settled. */
  placed(place: MemberPlace): void;
  /** Whether the group is to be deleted when this member was the last. */
  isPassing(): boolean;
  /** Left out by members that have no work in hand. */
  readonly work?: {
    /**
     * The place is to be given up. Resolves when the work in hand is done. Heartbeats continue during that time. May be called
     * again.
     */
    finish(): Promise<void>;
    /** The group goes on without what this member had. */
    lost(): void;
  };
  /** The place was confirmed by the answer to a question that was asked after `marked`. */
  confirmed(marked: number): void;
  /** The group cannot be reached, and is asked again. @returns whether only a person can fix that */
  failed(error: unknown): boolean;
  /** The secrets that the brokers may have refused. While only a person can fix that, others are tried at once. */
  login?(): string;
}

export type GroupMember = ReturnType<typeof joinGroup>;

const LEAVE_MS = 3_000;
const CONNECT_MS = 10_000;
const LONGEST_PAUSE_MS = 2_000;
const LONGEST_REFUSED_PAUSE_MS = 60_000;
/** How often a member whose login was refused looks for another password, in ms. */
const LOOK_MS = 1_000;

/** Where a member stands with its group. */
type Standing =
  | { readonly kind: 'outside' }
  /** The connection brings no other answer than this one; the first answer of all tells the member its id. */
  | { readonly kind: 'joining'; readonly answer: Promise<Joined> }
  /** As far as is known: the group may have gone on meanwhile. */
  | { readonly kind: 'placed'; readonly generation: number };

const OUTSIDE: Standing = { kind: 'outside' };

interface MemberState {
  /** Empty: the coordinator has not given one, or has forgotten it. */
  memberId: string;
  standing: Standing;
  /** `rejoin` is done at the next sign of life. `leave`: it never joins again, and finishes its work. */
  intent: 'stay' | 'rejoin' | 'leave';
  /** In a row. */
  failures: number;
}

/**
 * Keeps a place in a group until it leaves. It joins, and divides what there is if it leads the group; gives signs of life; joins
 * again when others come and go, when the group went on without it, and when the coordinator is another broker. If members have
 * work in hand, a member whose connection broke first asks whether its membership still holds, because every join makes all members
 * put their work down.
 */
export function joinGroup(deps: MemberDeps) {
  const { kafka, groupId, sessionTimeoutMs, logger, work } = deps;
  /** Three may be lost. */
  const heartbeatMs = Math.min(1_000, sessionTimeoutMs / 8);
  const answerMs = Math.round(sessionTimeoutMs / 3);
  const link = new CoordinatorLink(kafka, groupId);
  /** Questions whether the place holds, by number: how many were asked, and which one was answered last. */
  let [asked, confirmed] = [0, 0];
  /** Aborted when the next sign of life is not to wait. */
  let next = new AbortController();
  /** Aborted when signs of life end. */
  const over = new AbortController();
  const state: MemberState = { memberId: '', standing: OUTSIDE, intent: 'stay', failures: 0 };
  const living = live();

  async function live(): Promise<void> {
    while (!over.signal.aborted) {
      const login = deps.login?.();
      try {
        const coordinator = await inTime(link.connect(), CONNECT_MS);
        link.coordinator = coordinator;
        if (state.standing.kind !== 'placed') {
          // A question that is answered soon shows whether the coordinator hangs; a join may take its time.
          await removeGhosts(coordinator);
          state.standing = { kind: 'placed', generation: await takePlace(coordinator) };
        }
        await keepPlace(coordinator, state.standing.generation);
        vacate();
      } catch (error) {
        if (over.signal.aborted) return;
        const { memberId, failures } = state;
        const isForgotten = isProtocolError(error, 'UNKNOWN_MEMBER_ID');
        // The group goes on, with this member or without: it joins again at once.
        const isRegrouping =
          isForgotten || isProtocolError(error, 'REBALANCE_IN_PROGRESS', 'ILLEGAL_GENERATION');
        logger.debug('the member has to join the group again', { groupId, memberId, failures, error });
        if (isForgotten) state.memberId = '';
        if (isRegrouping || work === undefined) vacate();
        state.failures++;
        if (!isRegrouping || failures >= 3) await pauseAfter(error, login);
      }
    }
  }

  async function pauseAfter(error: unknown, login: string | undefined): Promise<void> {
    link.drop();
    const isRefused = deps.failed(error);
    // Brokers lock out a client that comes again and again with a wrong password.
    const [first, longest] = isRefused
      ? [1_000, LONGEST_REFUSED_PAUSE_MS]
      : // A coordinator that comes back by then still knows its members.
        [50, Math.min(LONGEST_PAUSE_MS, sessionTimeoutMs / 4)];
    const until = performance.now() + Math.min(longest, first * 2 ** state.failures);
    while (!over.signal.aborted && !(isRefused && deps.login?.() !== login)) {
      const leftMs = until - performance.now();
      if (leftMs <= 0) return;
      await pause(Math.min(leftMs, LOOK_MS), over.signal);
    }
  }

  function vacate(): void {
    state.standing = OUTSIDE;
    work?.lost();
  }

  /** A join waits for all members, and the group cannot know that a process was killed. On its own machine a member can see it. */
  async function removeGhosts(coordinator: Coordinator): Promise<void> {
    const { groups } = await inTime(coordinator.describeGroups({ groupIds: [groupId] }), answerMs);
    for (const member of groups.flatMap(({ members }) => members)) {
      if (!isGhost(member)) continue;
      const { memberId } = member;
      logger.debug('a member whose process has ended is taken out of the group', { groupId, memberId });
      await inTime(coordinator.leaveGroup({ groupId, memberId }), answerMs).catch((error: unknown) => {
        // Another member may have taken it out already.
        if (!isProtocolError(error, 'UNKNOWN_MEMBER_ID')) throw error;
      });
    }
  }

  /** @returns the generation in which the group has settled */
  async function takePlace(coordinator: Coordinator): Promise<number> {
    // The work in hand is finished, and there is nothing more to come.
    if (state.intent === 'leave') await unlessAborted(new Promise<never>(() => undefined), over.signal);
    const mark = asked;
    const { generationId, memberId, leaderId, members } = await join(coordinator);
    state.memberId = memberId;
    const isLeader = leaderId === memberId;
    const given = coordinator.syncGroup({
      groupId,
      generationId,
      memberId,
      groupAssignment: isLeader ? await inTime(deps.divide(members), sessionTimeoutMs) : [],
    });
    // The leader may have died over its division: the coordinator then tells all members to join again.
    const { memberAssignment: assignment } = await inTime(given, 2 * sessionTimeoutMs);
    over.signal.throwIfAborted();
    if (state.intent !== 'leave') deps.placed({ memberId, generation: generationId, assignment });
    confirm(mark);
    return generationId;
  }

  async function join(coordinator: Coordinator): Promise<Joined> {
    const { protocol: name, rebalanceTimeoutMs } = deps;
    if (state.intent === 'rejoin') state.intent = 'stay';
    const answer = coordinator.joinGroup({
      groupId,
      memberId: state.memberId,
      sessionTimeout: sessionTimeoutMs,
      rebalanceTimeout: rebalanceTimeoutMs,
      groupProtocols: [{ name, metadata: deps.introduction() }],
    });
    state.standing = { kind: 'joining', answer };
    // Answered when all members have joined or are given up; an empty group first waits for others, as long as its brokers like.
    const longest = sessionTimeoutMs + rebalanceTimeoutMs + 10_000;
    try {
      return await inTime(answer, longest);
    } finally {
      // Even if it leaves during this request, it needs its id.
      if (!over.signal.aborted) state.standing = OUTSIDE;
    }
  }

  async function keepPlace(coordinator: Coordinator, generation: number): Promise<void> {
    for (;;) {
      next = new AbortController();
      // A question that came since the last answer does not wait.
      if (asked === confirmed)
        await untilAny([over.signal, next.signal], (signal) => pause(heartbeatMs, signal));
      over.signal.throwIfAborted();
      if (state.intent === 'rejoin') return finishWork(coordinator, generation);
      try {
        await giveSign(coordinator, generation);
      } catch (error) {
        if (isProtocolError(error, 'REBALANCE_IN_PROGRESS')) await finishWork(coordinator, generation);
        throw error;
      }
    }
  }

  async function giveSign(coordinator: Coordinator, groupGenerationId: number): Promise<void> {
    const mark = asked;
    const { memberId } = state;
    await inTime(coordinator.heartbeat({ groupId, groupGenerationId, memberId }), answerMs);
    confirm(mark);
  }

  /** Takes no longer than the session timeout: the other members wait for it. */
  async function finishWork(coordinator: Coordinator, generation: number): Promise<void> {
    if (work === undefined) return;
    const finished = new AbortController();
    work.finish().finally(() => finished.abort());
    const giveUpAt = performance.now() + sessionTimeoutMs;
    await untilAny([finished.signal, over.signal], async (signal) => {
      while (performance.now() < giveUpAt) {
        await pause(Math.min(heartbeatMs, giveUpAt - performance.now()), signal);
        over.signal.throwIfAborted();
        if (finished.signal.aborted) return;
        await giveSign(coordinator, generation).catch((error: unknown) => {
          if (!isProtocolError(error, 'REBALANCE_IN_PROGRESS')) throw error;
        });
      }
    });
  }

  function confirm(mark: number): void {
    state.failures = 0;
    confirmed = mark;
    deps.confirmed(mark);
  }

  function inTime<T>(work: Promise<T>, ms: number): Promise<T> {
    const late = () =>
      new Error(`Connection timeout: the coordinator of group ${groupId} did not answer within ${ms} ms`);
    return unlessLate(work, ms, over.signal, late);
  }

  return {
    /** Asks now whether the membership still holds. @returns the mark for which `confirmed` returns the answer */
    ask(): number {
      next.abort();
      return ++asked;
    },
    /** Joins again with new data. */
    rejoin(): void {
      if (state.intent === 'stay') state.intent = 'rejoin';
      next.abort();
    },
    /** The broker that keeps the group; null while it is looked for. */
    coordinator: (): Coordinator | null => link.coordinator,
    async leave(): Promise<void> {
      state.intent = 'leave';
      // Signs of life go on meanwhile.
      if (work !== undefined) {
        const { signal } = new AbortController();
        await unlessLate(work.finish(), sessionTimeoutMs, signal, () => null).catch(() => undefined);
      }
      over.abort();
      await living;
      const bounded = AbortSignal.timeout(LEAVE_MS);
      if (state.standing.kind === 'joining') {
        // A member that the group waits for would be given a share.
        const idOf = ({ memberId }: Joined) => memberId;
        state.memberId ||= await unlessAborted(state.standing.answer.then(idOf), bounded).catch(() => '');
        link.drop();
      }
      const { memberId } = state;
      try {
        if (memberId === '') return;
        const coordinator = await unlessAborted(link.connect(), bounded);
        await unlessAborted(coordinator.leaveGroup({ groupId, memberId }), bounded);
        if (deps.isPassing()) await unlessAborted(coordinator.deleteGroups([groupId]), bounded);
      } catch (error) {
        // Others remain, or the group may not be deleted, or no broker answers: the session then ends by itself.
        logger.debug('the group was not left in order', { groupId, memberId, error });
      } finally {
        work?.lost();
        link.drop();
      }
    },
  };
}
