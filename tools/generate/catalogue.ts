import { type PublishedTopic, topicsOf } from '../../src/avro/published-topics';
import { feedDefinitions } from '../../src/feeds';
import type { TopicRole } from '../../src/log/kafka/admin/topic-rules';

/** The topics of all feeds that come with highwater. Everything generated goes by this list. */
export function publishedTopics(): PublishedTopic[] {
  return feedDefinitions.flatMap((feed) => topicsOf(feed));
}

/** What a topic is to Kafka. */
export function roleOf(kind: PublishedTopic['kind']): TopicRole {
  return kind === 'transition' ? 'changes' : kind;
}
