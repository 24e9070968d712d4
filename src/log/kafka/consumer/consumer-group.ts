import { HighwaterError } from '../../../errors';
import type { GroupMember, GroupOptions } from '../../consumer-log';
import { kafkaFailure, passesByItself } from '../connection/kafka-failure';
import type { GroupProtocol, JoinedMember } from '../group/group-protocol';
import { joinGroup } from '../group/member';
import { hasEnded, ownIdentity } from '../group/process-identity';
import { type Remedies, refusalOf } from '../group/refusals';
import { leaderlessNotes } from '../reader/leaderless';
import { groupOffsets } from './group-offsets';
import { assignPartitions, type Subscriber, type TopicPartitions } from './partition-assignment';
import { type Placement, takeUp } from './placement';
import { type ReadingDeps, readFailure } from './reading';
import {
  CONSUMER_PROTOCOL,
  decodePartitions,
  decodeSubscriber,
  encodePartitions,
  encodeSubscriber,
} from './subscription';
import { topicLook } from './topic-partitions';

/** How often the leader looks for topics and partitions that were added, in ms. */
const LOOK_INTERVAL_MS = 3_000;
/** After so long without an answer people are told, in ms. */
const TELL_MS = 10_000;

const remedies: Remedies = {
  sessionTimeout:
    'Choose one (sessionTimeoutMs) between group.min.session.timeout.ms and group.max.session.timeout.ms of the brokers.',
  foreign: (groupId) =>
    `Choose another name for the group, or end the other consumers that use ${groupId}: they can go on with it one after the other, not at once.`,
  crowded: 'Run fewer members, or raise it.',
};

/** As `ConsumerLog.joinGroup`, by the group coordinator of the brokers. */
export function joinConsumerGroup(options: GroupOptions, deps: ReadingDeps): GroupMember {
  const { groupId, sessionTimeoutMs, work } = options;
  const { kafka, target, logger } = deps;
  const topics = [...new Set(options.topics)];
  const [notes, joinedAt] = [leaderlessNotes(logger), Date.now()];
  const look = topicLook(kafka, topics, (topic, error) => {
    const { message, remedy } = readFailure(error, [topic], target) as HighwaterError;
    const what = `Another member of the group ${groupId} asks for ${topic}, which this one, its leader, may not see. Nobody gets its partitions meanwhile.`;
    logger.warn(what, { why: message, remedy });
  });
  const working = new Map<string, Promise<void>>();
  let placement: Placement | null = null;
  /** What this member divided as the leader of the present generation. */
  let divided: TopicPartitions | null = null;
  /** Since when nothing is heard of the group, own clock; null while it is. */
  let silentSince: number | null = performance.now();
  let isTold = false;
  let leaving: Promise<void> | null = null;
  let settleOver: { resolve(): void; reject(error: unknown): void };
  const over = new Promise<void>((resolve, reject) => {
    settleOver = { resolve, reject };
  });
  // Whoever joined is told; one that does not listen is none of this.
  over.catch(() => undefined);

  const protocol: GroupProtocol = {
    name: CONSUMER_PROTOCOL,
    // Others finish what they have in hand: the session's length is given to that, and the rest to what comes before and after.
    rebalanceTimeoutMs: 2 * sessionTimeoutMs,
    introduction() {
      divided = null;
      const { generation = -1, partitions = {} } = placement ?? {};
      return encodeSubscriber({ topics, process: ownIdentity(), claims: { generation, partitions } });
    },
    async divide(members) {
      const known = members.map(readSubscriber);
      const wanted = [...new Set(known.flatMap((one) => one.topics))];
      const found = await look.partitions(wanted).catch((error: unknown) => {
        throw readFailure(error, wanted, target);
      });
      divided = Object.fromEntries(wanted.map((topic) => [topic, found[topic] ?? []]));
      return [...assignPartitions(known, found)].map(([memberId, partitions]) => ({
        memberId,
        memberAssignment: encodePartitions(partitions),
      }));
    },
    placed(place) {
      const partitions = decodePartitions(place.assignment);
      logger.debug('the group has settled', { groupId, generation: place.generation, partitions });
      placement = takeUp(place, partitions, {
        ...deps,
        groupId,
        offsets,
        work,
        working,
        notes,
        joinedAt,
        failed: end,
        recreated(topic) {
          logger.warn(
            `The topic ${topic} was deleted and created again. The group ${groupId} reads it from its beginning.`,
          );
          member.rejoin();
        },
      });
    },
    isGhost({ memberId, memberMetadata }) {
      try {
        return hasEnded(decodeSubscriber(memberId, memberMetadata).process);
      } catch {
        return false;
      }
    },
    isPassing: () => false,
    work: {
      finish: async () => placement?.finish(),
      lost: () => placement?.lost(),
    },
  };
  const member = joinGroup({
    kafka,
    groupId,
    sessionTimeoutMs,
    logger,
    protocol,
    confirmed() {
      if (isTold) logger.info(`The group ${groupId} can be reached again.`);
      silentSince = null;
      isTold = false;
      expiry.refresh();
    },
    failed,
  });
  const offsets = groupOffsets(groupId, member, { target, patienceMs: sessionTimeoutMs });

  // The group has given this member up, or nobody can tell: others may have what it has.
  const expiry = setTimeout(() => {
    if (!placement?.isHeld() || leaving !== null) return;
    placement.finish();
    member.rejoin();
  }, sessionTimeoutMs).unref();
  const looking = setInterval(lookAround, LOOK_INTERVAL_MS).unref();

  /** One that cannot be understood gets nothing, and does not keep the others from theirs. */
  function readSubscriber({ memberId, memberMetadata }: JoinedMember): Subscriber {
    try {
      return decodeSubscriber(memberId, memberMetadata);
    } catch (error) {
      const what = `The member ${memberId} of group ${groupId} is of another program; it gets no partitions.`;
      logger.warn(what, { error });
      return { memberId, topics: [], claims: { generation: -1, partitions: {} } };
    }
  }

  async function lookAround(): Promise<void> {
    const before = divided;
    if (before === null || leaving !== null) return;
    try {
      const found = await look.partitions(Object.keys(before));
      const isSame = Object.keys(before).every((topic) => `${found[topic] ?? []}` === `${before[topic]}`);
      if (!isSame && divided === before) member.rejoin();
    } catch (error) {
      logger.debug('the topics of a group are looked at again', { groupId, error });
    }
  }

  function failed(error: unknown): boolean {
    const doing = `joining the group ${groupId}`;
    const refusal = refusalOf(error, doing, groupId, sessionTimeoutMs, remedies);
    const asked = { operation: 'READ', topics: [], groupId, cluster: target } as const;
    const failure = refusal ?? kafkaFailure(error, doing, asked);
    if (refusal !== null || !passesByItself(failure)) {
      end(failure);
      return true;
    }
    silentSince ??= performance.now();
    if (!isTold && performance.now() - silentSince >= TELL_MS) {
      const why = failure.message;
      logger.warn(`The group ${groupId} cannot be reached; it is asked again.`, { why });
      isTold = true;
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
      look.close();
      settleOver.resolve();
    })();
    return leaving;
  }

  return { over, leave };
}
