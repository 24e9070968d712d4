import { type FeedKnowledge, type FeedVerdict, type LiveKnowledge, verdictOf } from '../feed-status/verdict';
import type { Feed } from '../feeds/feed';
import type { Drift } from '../pipeline/records/drift';
import type { PublisherEvent } from '../runtime/publisher-events';
import type { FeedState } from '../state/feed-state';
import type { SourceOffset } from '../state/source-offset';
import { type Owners, ownerOf } from './owners';

/** Where each feed of this process stands, as far as the publisher has told. */
export interface FeedBoard {
  readonly feeds: readonly FeedStanding[];
  tell(event: PublisherEvent): void;
}

export interface FeedStanding extends LiveKnowledge {
  readonly feed: Feed;
  /** The feed's state while it is owned. */
  readonly state: FeedState | null;
  /** Drift in the answers that this process read. */
  readonly drift: Omit<Drift, 'first'> | null;
  /** Time of the last page that had changes, ms; null: no page in this process had any. */
  readonly lastChangeMs: number | null;
  /** When the feed's loop last did something, ms of `performance.now()`. */
  readonly lastSignMs: number;
}

type Moving = { -readonly [field in keyof FeedStanding]: FeedStanding[field] };

/** @param clock ms, never set back */
export function feedBoard(feeds: readonly Feed[], clock = () => performance.now()): FeedBoard {
  const standings = new Map<string, Moving>(
    feeds.map((feed) => [
      feed.name,
      {
        feed,
        phase: 'waiting',
        failure: null,
        state: null,
        drift: null,
        lastChangeMs: null,
        lastSignMs: clock(),
      },
    ]),
  );
  return {
    feeds: [...standings.values()],
    tell(event) {
      const standing = standings.get(event.feed);
      if (standing === undefined) return;
      standing.lastSignMs = clock();
      move(standing, event);
    },
  };
}

function move(standing: Moving, event: PublisherEvent): void {
  switch (event.kind) {
    case 'waiting':
      // A failure of this instance to take the feed over does not affect the next owner.
      if (standing.phase !== 'waiting') standing.failure = null;
      standing.phase = 'waiting';
      break;
    case 'restoring':
      standing.phase = 'restoring';
      break;
    case 'acquired':
      standing.phase = 'owned';
      standing.state = event.state;
      standing.drift = event.drift;
      break;
    case 'released':
      // An instance that failed takes the feed again by itself; an instance that lost it to another waits. If the feed could not be
      // taken over, its session is released before the failure is told.
      if (standing.phase === 'owned') standing.phase = standing.failure === null ? 'waiting' : 'restoring';
      standing.state = null;
      break;
    case 'page':
      if (event.report.changes.count > 0) standing.lastChangeMs = event.report.observedAtMs;
      break;
    case 'otherChanges':
      if (event.changes.count > 0) standing.lastChangeMs = event.observedAtMs;
      break;
    case 'polled':
    case 'rested':
      standing.failure = null;
      break;
    case 'failed':
      standing.failure = {
        code: event.code,
        parks: event.parks,
        what: event.what,
        sinceMs: standing.failure?.sinceMs ?? Date.now(),
        retryAtMs: event.retryInMs === null ? null : Date.now() + event.retryInMs,
      };
      break;
  }
}

/**
 * This process's knowledge of a feed.
 * @param stored position in the log, of a feed that another instance has; null: not read
 */
export function knowledgeOf(
  { feed, phase, failure, state }: FeedStanding,
  owners: Owners,
  stored: SourceOffset | null,
): FeedKnowledge {
  const live = { phase, failure };
  if (phase === 'waiting') return { feed, offset: stored, owner: ownerOf(owners, feed.name), live };
  return { feed, offset: state?.offset ?? null, owner: 'live', live };
}

/** How each feed stands, by its name, without a look into the log. The other instances are asked when a feed may be theirs. */
export async function boardVerdicts(
  { feeds }: FeedBoard,
  owners: () => Promise<Owners>,
): Promise<ReadonlyMap<string, FeedVerdict>> {
  const known: Owners = feeds.some(({ phase }) => phase === 'waiting') ? await owners() : new Map();
  return new Map(
    feeds.map((standing) => [standing.feed.name, verdictOf(knowledgeOf(standing, known, null), Date.now())]),
  );
}
