import { HighwaterError } from '../errors';
import type { FeedDefinition } from '../feeds/definition';
import type { FeedTopics, SharedTopicSpec, TopicEnd, TopicSpec } from './commit-log';

/**
 * Names and shapes of all topics of one feed. `transitions` has one entry for each of the definition's, in its order; a
 * transition that is routed onto the feed's own topic repeats `changes`.
 * @param prefix goes before every name as it is: `staging.`
 * @param partitions of new topics. Records spread over them, so that a consumer group can share the work of a feed
 */
export function feedTopics(
  feed: Pick<FeedDefinition, 'name' | 'topic' | 'transitions'>,
  prefix: string,
  partitions = 3,
): FeedTopics {
  const plain = (name: string): TopicSpec => ({ name: `${prefix}${name}`, partitions, cleanup: 'delete' });
  return {
    feed: feed.name,
    changes: plain(feed.topic),
    current: { name: `${prefix}${feed.name}.current`, partitions, cleanup: 'compact' },
    sourceOffset: { name: `${prefix}${feed.name}.source-offset`, partitions: 1, cleanup: 'compact' },
    deadLetters: { name: `${prefix}${feed.name}.dead-letters`, partitions: 1, cleanup: 'compact,delete' },
    transitions: feed.transitions.map((transition) => plain(transition.topic)),
  };
}

/** Operators' requests and the owners' replies, of all feeds of an installation. Its name carries both of what makes one. */
export function commandsTopic(appId: string, prefix: string): SharedTopicSpec {
  return { name: `${prefix}${appId}.commands`, partitions: 1, cleanup: 'delete', retentionMs: 86_400_000 };
}

/** Every topic of a feed once; one name in two shapes stays twice, and the log refuses it. */
export function allTopics(topics: FeedTopics): TopicSpec[] {
  const { changes, current, sourceOffset, deadLetters, transitions } = topics;
  const all = [changes, ...transitions, current, deadLetters, sourceOffset];
  return [...new Map(all.map((spec) => [`${spec.cleanup} ${spec.name}`, spec])).values()];
}

/** Whether only the latest record of each key is kept. */
export function isCompacted(spec: Pick<TopicSpec, 'cleanup'>): boolean {
  return spec.cleanup !== 'delete';
}

/** The topics with events and dead letters: the state of the feed does not show that they were deleted. */
export function eventTopics(topics: FeedTopics): string[] {
  const unguarded = allTopics(topics).filter(({ cleanup }) => cleanup !== 'compact');
  return unguarded.map(({ name }) => name);
}

/** Finds the topics that have another id than before. A topic whose id is not known, now or before, may be the same. */
export function createdAgain(
  topics: readonly string[],
  before: ReadonlyMap<string, string>,
  now: ReadonlyMap<string, string>,
): string[] {
  return topics.filter(
    (topic) => (before.get(topic) ?? now.get(topic)) !== (now.get(topic) ?? before.get(topic)),
  );
}

export function topicLost(topic: string): HighwaterError {
  return new HighwaterError('LOG_TOPIC_LOST', `Topic ${topic} is not there any more`);
}

export function historyLost(feed: string, topics: readonly string[]): HighwaterError {
  const [topic, were] = topics.length === 1 ? ['Topic', 'was'] : ['Topics', 'were'];
  const what = `${topic} ${topics.join(', ')} ${were} deleted and created again: the earlier events are gone.`;
  return new HighwaterError('LOG_TOPIC_LOST', what, {
    now: 'The feed goes on with the same images and numbers; new events are published.',
    remedy: `Find out who deletes topics. \`highwater snapshot ${feed}\` publishes every record again; transitions do not come again.`,
  });
}

/**
 * @param now the topic's id, and places in its partitions that lie behind every end that it had before
 * @throws HighwaterError LOG_TOPIC_LOST
 */
export function assertReaches(topic: string, now: Omit<TopicEnd, 'commit'>, before: TopicEnd): void {
  const isAsLong = now.offsets.length === before.offsets.length;
  const reaches = before.offsets.every((end, partition) => now.offsets[partition]! >= end);
  if (now.topicId === before.topicId && isAsLong && reaches) return;
  const what = `Topic ${topic} (${now.topicId}) ends at ${now.offsets.join(', ')}, and topic ${before.topicId} ended at ${before.offsets.join(', ')} before.`;
  throw new HighwaterError('LOG_TOPIC_LOST', what);
}
