import type { Kafka } from 'kafkajs';
import { joinSignals, unlessAborted, unlessLate } from '../../../async/wait';
import { HighwaterError } from '../../../errors';
import type { Logger } from '../../../logging/logger';
import type { Grant, JoinOptions, Membership } from '../../membership';
import type { CommandTarget } from '../connection/admin-commands';
import { kafkaFailure } from '../connection/kafka-failure';
import { joinGroup } from './member';
import { type OwnersAssignment, ownersProtocol } from './owners-protocol';
import { ownIdentity } from './process-identity';
import type { TopicOf } from './protocol';
import { refusalOf } from './refusals';

export interface GroupDeps {
  readonly kafka: Kafka;
  readonly groupId: string;
  readonly sessionTimeoutMs: number;
  readonly logger: Logger;
  readonly topicOf: TopicOf;
  /** For the commands in remedies. */
  readonly target: CommandTarget;
  /** How long who waits for a feed is kept waiting while the group cannot be reached, in ms. */
  readonly patienceMs: number;
}

interface Held {
  readonly grant: Grant;
  readonly revoke: () => void;
}

/** A guest does not wait longer for a group that does not settle. */
const GUEST_MS = 60_000;

/** For so long others come first for a feed that could not be taken over here. */
const DECLINED_MS = 5 * 60_000;

/** What waits for the group's next word. */
interface Waiting {
  readonly feed: string;
  resolve(grant: Grant): void;
  reject(error: unknown): void;
}

interface Confirming {
  readonly mark: number;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * A place among the instances by a consumer group, in which nothing is consumed. A member that the group cannot be reached
 * by keeps its feeds: the fence tells it when another has taken one over, and only then.
 */
export function groupMembership(
  feeds: readonly string[],
  { instance, isGuest }: JoinOptions,
  deps: GroupDeps,
): Membership {
  const { groupId, logger, sessionTimeoutMs } = deps;
  const held = new Map<string, Held>();
  const waiting = new Set<Waiting>();
  const confirming = new Set<Confirming>();
  let place: OwnersAssignment | null = null;
  /** Since when the group cannot be reached, own clock; null while it can. It has not been reached yet. */
  let failingSince: number | null = performance.now();
  let isOver = false;
  let told = '';
  let isToldOfFailure = false;
  /** Feed → until when, own clock. */
  const declined = new Map<string, number>();

  const protocol = ownersProtocol({
    ...deps,
    introduction: () => ({
      instance,
      isGuest,
      feeds,
      process: ownIdentity(),
      declined: declinedNow(),
      claims: {
        memberId: place?.memberId ?? '',
        feeds: Object.fromEntries((place?.feeds ?? []).map((feed) => [feed, place!.generation])),
      },
    }),
    placed,
  });
  const member = joinGroup({
    kafka: deps.kafka,
    groupId,
    sessionTimeoutMs,
    logger,
    protocol,
    confirmed(mark) {
      isReached();
      for (const one of [...confirming]) {
        if (one.mark > mark) continue;
        confirming.delete(one);
        one.resolve();
      }
    },
    failed,
  });

  function placed(next: OwnersAssignment): void {
    place = next;
    isReached();
    for (const [feed, { revoke }] of [...held]) {
      if (next.feeds.includes(feed)) continue;
      held.delete(feed);
      revoke();
    }
    for (const one of [...waiting]) settle(one, next);
    const news = sharing(next);
    if (news !== told && !isGuest) logger.info(news);
    else logger.debug('the group has settled', { groupId, ...next });
    told = news;
  }

  /** Who has what, for people. */
  function sharing({ feeds: own, owners }: OwnersAssignment): string {
    const others = Object.entries(owners)
      .filter(([feed]) => !own.includes(feed))
      .map(([feed, owner]) => `${owner} has ${feed}`);
    const mine = own.length > 0 ? `This instance has ${own.join(', ')}` : 'This instance waits to take over';
    return `${[mine, ...others.sort()].join('; ')}.`;
  }

  function settle(one: Waiting, { feeds: given, owners }: OwnersAssignment): void {
    if (given.includes(one.feed)) one.resolve(grantOf(one.feed));
    else if (isGuest && owners[one.feed] !== undefined) one.reject(ownedBy(one.feed, owners[one.feed]!));
  }

  function grantOf(feed: string): Grant {
    const known = held.get(feed);
    if (known !== undefined) return known.grant;
    const over = new AbortController();
    const grant: Grant = {
      revoked: over.signal,
      async confirm(signal) {
        if (over.signal.aborted) return false;
        let one: Confirming | null = null;
        const answer = new Promise<void>((resolve, reject) => {
          one = { mark: member.ask(), resolve, reject };
          confirming.add(one);
        });
        const either = joinSignals([signal, over.signal]);
        try {
          await unlessAborted(answer, either.signal);
        } catch (error) {
          signal.throwIfAborted();
          if (!over.signal.aborted) throw error;
        } finally {
          either.leave();
          confirming.delete(one!);
        }
        return !over.signal.aborted;
      },
    };
    held.set(feed, { grant, revoke: () => over.abort() });
    return grant;
  }

  function isReached(): void {
    failingSince = null;
    if (isToldOfFailure) logger.info('The other instances can be asked again.');
    isToldOfFailure = false;
  }

  function failed(error: unknown): boolean {
    const failure = groupFailure(error);
    const needsPerson = failure instanceof HighwaterError && failure.kind.parks;
    failingSince ??= performance.now();
    const isLong = performance.now() - failingSince >= deps.patienceMs;
    const isRefused = refusalOf(error, '', groupId, sessionTimeoutMs) !== null;
    if (!isLong && !needsPerson && !isRefused) return false;
    for (const one of [...waiting]) one.reject(failure);
    for (const one of [...confirming]) one.reject(failure);
    confirming.clear();
    if (!isToldOfFailure && held.size > 0) {
      const feedsHeld = [...held.keys()].join(', ');
      const why = failure instanceof Error ? failure.message : String(failure);
      logger.warn('The other instances cannot be asked; this one goes on with what it has.', {
        feeds: feedsHeld,
        why,
      });
    }
    isToldOfFailure = true;
    return needsPerson;
  }

  function declinedNow(): string[] {
    const now = performance.now();
    for (const [feed, until] of [...declined]) if (until <= now) declined.delete(feed);
    return [...declined.keys()];
  }

  function groupFailure(error: unknown): unknown {
    const doing = `joining the group ${groupId}`;
    const asked = { operation: 'READ', topics: [], groupId, cluster: deps.target } as const;
    return refusalOf(error, doing, groupId, sessionTimeoutMs) ?? kafkaFailure(error, doing, asked);
  }

  function ownedBy(feed: string, owner: string): HighwaterError {
    return new HighwaterError(
      'LOG_OWNED',
      `feed ${feed} is owned by ${owner}, which publishes it to the same topics`,
      {
        now: 'Nothing of this feed was done.',
        remedy: `Leave it to ${owner}, or stop that one.`,
      },
    );
  }

  return {
    async grant(feed, signal) {
      signal.throwIfAborted();
      if (isOver) throw new HighwaterError('LOG_CLOSED', 'the log was closed');
      if (!feeds.includes(feed)) throw new RangeError(`the instance has not joined for ${feed}`);
      let one: Waiting | null = null;
      const granted = new Promise<Grant>((resolve, reject) => {
        one = { feed, resolve, reject };
        waiting.add(one);
        if (place !== null) settle(one, place);
      });
      const late = () => {
        const what = `the group ${groupId} has given feed ${feed} to nobody within ${GUEST_MS / 1_000} s`;
        const remedy = 'Try again. When that does not help, end the members that are of another version.';
        return new HighwaterError('LOG_FAILED', what, { remedy });
      };
      try {
        // Others wait until it is their turn.
        return await (isGuest ? unlessLate(granted, GUEST_MS, signal, late) : unlessAborted(granted, signal));
      } finally {
        waiting.delete(one!);
      }
    },
    decline(feed) {
      const until = declined.get(feed) ?? Number.NEGATIVE_INFINITY;
      if (isGuest || until > performance.now()) return;
      declined.set(feed, performance.now() + DECLINED_MS);
      member.rejoin();
    },
    async leave() {
      if (isOver) return;
      isOver = true;
      await member.leave();
      for (const { revoke } of held.values()) revoke();
      const closed = new HighwaterError('LOG_CLOSED', 'the log was closed');
      for (const one of [...waiting]) one.reject(closed);
    },
  };
}
