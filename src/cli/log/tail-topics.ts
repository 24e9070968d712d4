import { didYouMean } from '../../config/did-you-mean';
import type { Config } from '../../config/load-config';
import { HighwaterError } from '../../errors';
import type { FeedDefinition } from '../../feeds/definition';
import { feedDefinitions } from '../../feeds/index';
import { allTopics, feedTopics } from '../../log/topics';

/**
 * The topic that a person means: the name with the prefix, unless it has the prefix already. A topic that is called like the name
 * without the prefix belongs to another installation.
 * @param inLog names of the topics that the log has; null while there is no log
 */
export function meantTopic(name: string, config: Config, inLog: readonly string[] | null): string {
  const prefixed = `${config.topicPrefix}${name}`;
  const known = knownTopics(config, inLog);
  const isWhole = name.startsWith(config.topicPrefix) && known.includes(name) && !known.includes(prefixed);
  return isWhole ? name : prefixed;
}

/**
 * A note for a reader that waits for a topic; null if the topic exists.
 * @param place of the log, for people
 * @throws HighwaterError TOPIC_UNKNOWN, LOG_MISSING when the reader would not wait for it
 */
export function missingTopicNote(
  topic: string,
  config: Config,
  { follow, inLog, place }: { follow: boolean; inLog: readonly string[] | null; place: string },
): string | null {
  if (inLog?.includes(topic)) return null;
  const known = knownTopics(config, inLog);
  const isKnown = known.includes(topic);
  if (isKnown && inLog === null) {
    const what = `there is no log in ${place} yet`;
    if (!follow) throw new HighwaterError('LOG_MISSING', what);
    return `${what}. Waiting for a publisher to begin one (highwater run); Ctrl-C ends.`;
  }
  if (isKnown) {
    const what = `the log in ${place} has no topic ${topic} yet`;
    const remedy =
      'Start a publisher of the feed (`highwater run`), or name the prefix with which it runs (--topic-prefix).';
    if (!follow) throw new HighwaterError('TOPIC_UNKNOWN', what, { remedy });
    return `${what}. Waiting for it; Ctrl-C ends.`;
  }
  const meant = didYouMean(topic, known);
  const hint = meant === null ? '' : `did you mean ${meant}? `;
  const what = `there is no topic ${topic}; ${hint}there are ${known.join(', ')}`;
  if (!follow) throw new HighwaterError('TOPIC_UNKNOWN', what);
  return `${what}. Waiting for it in ${place}; Ctrl-C ends.`;
}

/** Topics of the log and of the feeds. */
function knownTopics({ feeds, topicPrefix }: Config, inLog: readonly string[] | null): readonly string[] {
  const ofFeeds = feeds.flatMap((feed) => allTopics(feedTopics(feed, topicPrefix)).map(({ name }) => name));
  return [...new Set([...ofFeeds, ...(inLog ?? [])])].sort();
}

/** The feed that a topic belongs to; null for a topic of no feed. A built-in feed that does not run is known, too. */
export function feedsByTopic({
  feeds,
  topicPrefix,
}: Pick<Config, 'feeds' | 'topicPrefix'>): (topic: string) => FeedDefinition | null {
  const byTopic = new Map(
    [...feedDefinitions, ...feeds].flatMap((feed) =>
      allTopics(feedTopics(feed, topicPrefix)).map(({ name }) => [name, feed] as const),
    ),
  );
  return (topic) => byTopic.get(topic) ?? null;
}
