import { EventEmitter, once } from 'node:events';
import type { Kafka } from 'kafkajs';
import { untilAny } from '../../../async/wait';
import { HighwaterError } from '../../../errors';
import type { Logger } from '../../../logging/logger';
import type { Grant, JoinOptions, Membership } from '../../membership';
import { joinGroup } from './member';
import { encodeMetadata, type JoinedMember, type MemberPlace, ownIdentity } from './member-data';
import {
  decodeFeeds,
  decodeInstance,
  divideFeeds,
  type Member,
  OWNERS_PROTOCOL,
  type SharedFeeds,
} from './owners-protocol';
import { Contact, type Joining, joinFailure } from './refusals';

/** By default the others go on without a member after this long without a sign of life, in ms. */
export const SESSION_TIMEOUT_MS = 10_000;

/** The assignment of an instance. It holds until the next one. */
type OwnersAssignment = SharedFeeds & Omit<MemberPlace, 'assignment'>;

export interface GroupDeps extends Joining {
  readonly kafka: Kafka;
  readonly logger: Logger;
  /** A feed's topic in the eyes of tools: its source offsets. */
  topicOf(feed: string): string;
  /** How long a caller that waits for a feed is kept waiting while the group cannot be reached, in ms. */
  readonly patienceMs: number;
}

/** A guest does not wait longer for a group that does not settle. */
const GUEST_MS = 60_000;

/** After a feed could not be taken over here, others come first for it for this long. */
const DECLINED_MS = 5 * 60_000;

/**
 * A place among the instances, in a consumer group in which nothing is consumed. A member that cannot reach the group keeps
 * its feeds: only the fence tells it that another member has taken one over.
 */
export function groupMembership(
  feeds: readonly string[],
  { instance, isGuest }: JoinOptions,
  deps: GroupDeps,
): Membership {
  const { groupId, logger, sessionTimeoutMs, target, topicOf } = deps;
  /** Feed → ends its grant. */
  const held = new Map<string, { readonly grant: Grant; revoke(): void }>();
  /** `said`: the group has answered; `error`: it cannot be asked. Callers wait for either. */
  const news = new EventEmitter().setMaxListeners(0).on('error', () => undefined);
  const contact = new Contact();
  /** Feed that could not be taken over here lately → until when it is declined, own clock. */
  const declined = new Map<string, number>();
  let place: OwnersAssignment | null = null;
  /** The last question that the group has answered, by its mark. */
  let answered = 0;
  let isOver = false;

  const member = joinGroup({
    kafka: deps.kafka,
    groupId,
    sessionTimeoutMs,
    logger,
    // Nothing waits for work that an instance is in the middle of: the fence of the log ends it.
    protocol: OWNERS_PROTOCOL,
    rebalanceTimeoutMs: sessionTimeoutMs,
    introduction: () => encodeMetadata(feeds.map(topicOf), introduction()),
    divide: async (members) => divideFeeds(members.map(readMember), topicOf),
    placed: ({ assignment, ...next }) => placed({ ...next, ...decodeFeeds(assignment) }),
    isPassing: () => isGuest,
    confirmed(mark) {
      answered = mark;
      isReached();
    },
    failed,
    login: () => JSON.stringify([target.sasl?.password, target.ssl]),
  });

  function introduction(): Omit<Member, 'memberId'> {
    const { memberId = '', generation = 0, feeds: own = [] } = place ?? {};
    return {
      instance,
      isGuest,
      feeds,
      process: ownIdentity(),
      declined: declinedNow(),
      claims: { memberId, feeds: Object.fromEntries(own.map((feed) => [feed, generation])) },
    };
  }

  function declinedNow(): string[] {
    const now = performance.now();
    return [...declined].filter(([, until]) => until > now).map(([feed]) => feed);
  }

  /** A member that cannot be understood gets nothing, and does not keep the others from their feeds. */
  function readMember(joined: JoinedMember): Member {
    try {
      return decodeInstance(joined);
    } catch (error) {
      const { memberId } = joined;
      const what = `The member ${memberId} of group ${groupId} is of another program or version; it gets no feeds.`;
      logger.warn(what, { error });
      return { ...introduction(), memberId, instance: memberId, feeds: [] };
    }
  }

  function placed(next: OwnersAssignment): void {
    const isNews = place === null || sharing(next) !== sharing(place);
    place = next;
    for (const [feed, { revoke }] of [...held]) {
      if (next.feeds.includes(feed)) continue;
      held.delete(feed);
      revoke();
    }
    isReached();
    if (isNews && !isGuest) logger.info(sharing(next));
    else logger.debug('the group has settled', { groupId, ...next });
  }

  /** @throws HighwaterError LOG_OWNED to a guest; the group's failure; the signal's reason */
  async function granted(feed: string, signal: AbortSignal): Promise<Grant> {
    for (;;) {
      if (place?.feeds.includes(feed)) return grantOf(feed);
      const owner = place?.owners[feed];
      if (isGuest && owner !== undefined) throw ownedBy(feed, owner);
      await nextWord(signal);
    }
  }

  async function nextWord(signal: AbortSignal): Promise<void> {
    try {
      await once(news, 'said', { signal });
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    }
  }

  function grantOf(feed: string): Grant {
    const known = held.get(feed);
    if (known !== undefined) return known.grant;
    const over = new AbortController();
    const grant: Grant = {
      revoked: over.signal,
      async confirm(signal) {
        if (over.signal.aborted) return false;
        const mark = member.ask();
        await untilAny([signal, over.signal], async (either) => {
          while (answered < mark) await nextWord(either);
        }).catch((error: unknown) => {
          signal.throwIfAborted();
          if (!over.signal.aborted) throw error;
        });
        return !over.signal.aborted;
      },
    };
    held.set(feed, { grant, revoke: () => over.abort() });
    return grant;
  }

  function isReached(): void {
    if (contact.regained()) logger.warn('The other instances can be asked again.');
    news.emit('said');
  }

  function failed(error: unknown): boolean {
    const { failure, refusal } = joinFailure(error, deps);
    const needsPerson = failure instanceof HighwaterError && failure.kind.parks;
    const isLong = contact.failed() >= deps.patienceMs;
    if (!isLong && !needsPerson && refusal === null) return false;
    news.emit('error', failure);
    if (contact.tell() && held.size > 0) {
      const why = failure instanceof Error ? failure.message : String(failure);
      logger.warn('The other instances cannot be asked; this one keeps its feeds.', {
        feeds: [...held.keys()].join(', '),
        why,
      });
    }
    return needsPerson;
  }

  return {
    async grant(feed, signal) {
      signal.throwIfAborted();
      if (isOver) throw closed();
      if (!feeds.includes(feed)) throw new RangeError(`the instance has not joined for ${feed}`);
      // An instance that stays waits until it is its turn.
      if (!isGuest) return granted(feed, signal);
      const late = AbortSignal.timeout(GUEST_MS);
      return untilAny([signal, late], (either) => granted(feed, either)).catch((error: unknown) => {
        signal.throwIfAborted();
        throw late.aborted ? unsettled(groupId, feed) : error;
      });
    },
    decline(feed) {
      if (isGuest || declinedNow().includes(feed)) return;
      declined.set(feed, performance.now() + DECLINED_MS);
      member.rejoin();
    },
    async leave() {
      if (isOver) return;
      isOver = true;
      await member.leave();
      for (const { revoke } of held.values()) revoke();
      news.emit('error', closed());
    },
  };
}

/** Which instance has what, for people. */
function sharing({ feeds: own, owners }: OwnersAssignment): string {
  const others = Object.entries(owners)
    .filter(([feed]) => !own.includes(feed))
    .map(([feed, owner]) => `${owner} has ${feed}`);
  const mine = own.length > 0 ? `This instance has ${own.join(', ')}` : 'This instance waits to take over';
  return `${[mine, ...others.sort()].join('; ')}.`;
}

function ownedBy(feed: string, owner: string): HighwaterError {
  const what = `feed ${feed} is owned by ${owner}, which publishes it to the same topics`;
  return new HighwaterError('LOG_OWNED', what, {
    now: 'Nothing of this feed was done.',
    remedy: `Leave it to ${owner}, or stop that one.`,
  });
}

function unsettled(groupId: string, feed: string): HighwaterError {
  const what = `the group ${groupId} has given feed ${feed} to nobody within ${GUEST_MS / 1_000} s`;
  const remedy = 'Try again. If that does not help, end the members that are of another version.';
  return new HighwaterError('LOG_FAILED', what, { remedy });
}

function closed(): HighwaterError {
  return new HighwaterError('LOG_CLOSED', 'the log was closed');
}
