import type { Feed } from '../../feeds/feed';
import { feedTopics } from '../../log/topics';

/** A mistake in the section of a feed. */
export interface FeedMistake {
  readonly feed: string;
  /** Below the feed: `transitions`, 0, `field`. */
  readonly path: readonly PropertyKey[];
  readonly problem: string;
}

interface Claim {
  readonly feed: string;
  readonly topic: string;
  readonly path: readonly PropertyKey[];
  /** 0 for names that nobody can change, 1 for names of definitions, 2 for names that the file sets. */
  readonly rank: 0 | 1 | 2;
}

/**
 * Topics with two writers, each reported at a setting that the file can change.
 * @param isWritten whether the file sets the value at a path of a feed
 */
export function topicClashes(
  feeds: readonly Feed[],
  isWritten: (feed: string, path: readonly PropertyKey[]) => boolean,
): FeedMistake[] {
  const claims = feeds.flatMap((feed) => claimsOf(feed, isWritten)).sort((a, b) => a.rank - b.rank);
  const owners = new Map<string, Claim>();
  return claims.flatMap(({ feed, topic, path }, index) => {
    const owner = owners.get(topic);
    if (owner === undefined) {
      owners.set(topic, claims[index]!);
      return [];
    }
    const which = owner.path[0] === 'topic' ? 'the topic' : 'a topic';
    return [{ feed, path, problem: `"${topic}" is ${which} of ${owner.feed} already` }];
  });
}

function claimsOf(feed: Feed, isWritten: (feed: string, path: readonly PropertyKey[]) => boolean): Claim[] {
  const { changes, current, sourceOffset, deadLetters, transitions } = feedTopics(feed, '');
  const claim = (topic: string, path: readonly PropertyKey[]): Claim => {
    const rank = path.length === 0 ? 0 : isWritten(feed.name, path) ? 2 : 1;
    return { feed: feed.name, topic, path, rank };
  };
  return [
    ...[current, sourceOffset, deadLetters].map(({ name }) => claim(name, [])),
    claim(changes.name, ['topic']),
    // On the topic of its own feed a transition is at home.
    ...transitions.flatMap(({ name }, index) =>
      name === changes.name ? [] : [claim(name, ['transitions', index, 'topic'])],
    ),
  ];
}
