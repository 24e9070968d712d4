import { type FeedKnowledge, type FeedVerdict, verdictOf } from '../feed-status/verdict';
import type { SourceOffset } from '../state/source-offset';
import type { FeedBoard, FeedStanding } from './feed-board';
import { type Owners, ownerOf } from './owners';

/**
 * What this process knows of a feed.
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
