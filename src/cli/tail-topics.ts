import type { Config } from '../config/load-config';
import { HighwaterError } from '../errors';
import { topicNames } from '../log/local/topic-names';
import { allTopics, feedTopics } from '../log/topics';

/** The topic that a person means: of this very name where there is one, else with the prefix before it. */
export function meantTopic(name: string, config: Config): string {
  return knownTopics(config, topicNames(config.dataDir)).includes(name)
    ? name
    : `${config.topicPrefix}${name}`;
}

/**
 * What to tell somebody who reads a topic that has no records yet; null when it is there.
 * @throws HighwaterError TOPIC_UNKNOWN, LOG_MISSING when the reader would not wait for it
 */
export function missingTopicNote(topic: string, config: Config, follow: boolean): string | null {
  const { dataDir } = config;
  const inLog = topicNames(dataDir);
  if (inLog?.includes(topic)) return null;
  const there = knownTopics(config, inLog);

  if (!there.includes(topic)) {
    const what = `there is no topic ${topic}; there are ${there.join(', ')}`;
    if (!follow) throw new HighwaterError('TOPIC_UNKNOWN', what);
    return `${what}. Waiting for it in ${dataDir}; Ctrl-C ends.`;
  }
  if (inLog === null) {
    const what = `there is no log in ${dataDir} yet`;
    if (!follow) throw new HighwaterError('LOG_MISSING', what);
    return `${what}. Waiting for a publisher to begin one (highwater run); Ctrl-C ends.`;
  }
  return `the log in ${dataDir} has no topic ${topic} yet${follow ? '. Waiting for it; Ctrl-C ends.' : '.'}`;
}

/** What the log has, and what the feeds will write. */
function knownTopics({ feeds, topicPrefix }: Config, inLog: readonly string[] | null): readonly string[] {
  const ofFeeds = feeds.flatMap((feed) => allTopics(feedTopics(feed, topicPrefix)).map(({ name }) => name));
  return [...new Set([...ofFeeds, ...(inLog ?? [])])].sort();
}
