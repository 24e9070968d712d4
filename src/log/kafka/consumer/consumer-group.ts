import { HighwaterError } from '../../../errors';
import type { GroupMember, GroupOptions } from '../../consumer-log';
import { passesByItself } from '../connection/kafka-failure';
import { joinGroup } from '../group/member';
import {
  decodeAssignment,
  encodeAssignment,
  encodeMetadata,
  type JoinedMember,
  ownIdentity,
} from '../group/member-data';
import { Contact, joinFailure, type Remedies } from '../group/refusals';
import { LeaderlessNotes } from '../reader/leaderless';
import { type ReadingDeps, readFailure } from '../reader/reading';
import { GroupOffsets } from './group-offsets';
import { KnownTopics } from './known-topics';
import { type Placement, type PlacementDeps, takeUp } from './placement';
import {
  assignPartitions,
  CONSUMER_PROTOCOL,
  decodeSubscriber,
  NO_CLAIMS,
  type Subscriber,
} from './subscription';
import { TopicWatch } from './topic-watch';

/** How often the leader looks for topics and partitions that were added, in ms. */
const LOOK_INTERVAL_MS = 3_000;
/** After this long without an answer people are told, in ms. */
const TELL_MS = 10_000;

const remediesOf = (groupId: string): Remedies => ({
  sessionTimeout:
    'Choose one (sessionTimeoutMs) between group.min.session.timeout.ms and group.max.session.timeout.ms of the brokers.',
  foreign: `Choose another name for the group, or end the other consumers that use ${groupId}: they can go on with it one after the other, not at once.`,
  crowded: 'Run fewer members, or raise it.',
});

/** As `ConsumerLog.joinGroup`, by the group coordinator of the brokers. */
export function joinConsumerGroup(options: GroupOptions, deps: ReadingDeps): GroupMember {
  const { groupId, sessionTimeoutMs } = options;
  const { kafka, target, logger } = deps;
  const topics = [...new Set(options.topics)];
  const contact = new Contact();
  const watch = new TopicWatch(kafka, topics, warnOfHidden);
  let placement: Placement | null = null;
  let leaving: Promise<void> | null = null;
  let settleOver: { resolve(): void; reject(error: unknown): void };
  const over = new Promise<void>((resolve, reject) => {
    settleOver = { resolve, reject };
  });
  // The caller may not listen.
  over.catch(() => undefined);

  /** A member that cannot be understood gets nothing, and does not keep the others from their partitions. */
  function readSubscriber(joined: JoinedMember): Subscriber {
    const { memberId } = joined;
    try {
      return decodeSubscriber(joined);
    } catch (error) {
      const what = `The member ${memberId} of group ${groupId} is of another program; it gets no partitions.`;
      logger.warn(what, { error });
      return { memberId, topics: [], claims: NO_CLAIMS };
    }
  }

  const member = joinGroup({
    kafka,
    groupId,
    sessionTimeoutMs,
    logger,
    protocol: CONSUMER_PROTOCOL,
    // Members first finish the work in hand, which may take one session timeout. The rest is a reserve for the steps before and
    // after.
    rebalanceTimeoutMs: 2 * sessionTimeoutMs,
    introduction() {
      // Nobody knows yet who leads the group next.
      watch.unwatch();
      const { generation, partitions } = placement ?? NO_CLAIMS;
      return encodeMetadata(topics, { process: ownIdentity(), claims: { generation, partitions } });
    },
    async divide(members) {
      const known = members.map(readSubscriber);
      const wanted = [...new Set(known.flatMap((one) => one.topics))];
      const found = await watch.watch(wanted).catch((error: unknown) => {
        throw readFailure(error, wanted, target);
      });
      return [...assignPartitions(known, found)].map(([memberId, partitions]) => ({
        memberId,
        memberAssignment: encodeAssignment(partitions),
      }));
    },
    isPassing: () => false,
    placed(place) {
      const partitions = decodeAssignment(place.assignment)?.partitions ?? {};
      logger.debug('the group has settled', { groupId, generation: place.generation, partitions });
      placement = takeUp(place, partitions, placing);
    },
    work: { finish: async () => placement?.finish(), lost: () => placement?.lost() },
    confirmed() {
      if (contact.regained()) logger.warn(`The group ${groupId} can be reached again.`);
      expiry.refresh();
    },
    failed,
  });
  const placing: PlacementDeps = {
    ...deps,
    groupId,
    offsets: new GroupOffsets(groupId, member, { target, patienceMs: sessionTimeoutMs }),
    work: options.work,
    working: new Map(),
    notes: new LeaderlessNotes(logger),
    joinedAt: Date.now(),
    failed: end,
    known: new KnownTopics(groupId, logger),
    recreated: () => member.rejoin(),
  };

  // The group has given this member up, or nobody can tell: others may have its partitions.
  const expiry = setTimeout(() => {
    if (!placement?.isHeld() || leaving !== null) return;
    placement.finish();
    member.rejoin();
  }, sessionTimeoutMs).unref();
  const looking = setInterval(lookAround, LOOK_INTERVAL_MS).unref();

  async function lookAround(): Promise<void> {
    if (leaving !== null) return;
    try {
      if (await watch.hasChanged()) member.rejoin();
    } catch (error) {
      logger.debug('the topics of a group are looked at again', { groupId, error });
    }
  }

  function warnOfHidden(topic: string, error: unknown): void {
    const { message, remedy } = readFailure(error, [topic], target) as HighwaterError;
    const what = `Another member of the group ${groupId} asks for ${topic}, which this member, its leader, may not see. Nobody gets its partitions.`;
    logger.warn(what, { why: message, remedy });
  }

  function failed(error: unknown): boolean {
    const joining = { groupId, sessionTimeoutMs, target };
    const { failure, refusal } = joinFailure(error, joining, remediesOf(groupId));
    if (refusal !== null || !passesByItself(failure)) {
      end(failure);
      return true;
    }
    if (contact.failed() >= TELL_MS && contact.tell()) {
      const why = failure.message;
      logger.warn(`The group ${groupId} cannot be reached; it is asked again.`, { why });
    }
    return false;
  }

  function end(error: unknown): void {
    settleOver.reject(error instanceof Error ? error : new HighwaterError('UNEXPECTED', String(error)));
    leave();
  }

  function leave(): Promise<void> {
    leaving ??= (async () => {
      clearInterval(looking);
      await member.leave();
      clearTimeout(expiry);
      watch.close();
      settleOver.resolve();
    })();
    return leaving;
  }

  return { over, leave };
}
