import { feedSchemas, type RecordSchema, readSchema } from '../../src/avro/schemas';
import { feedDefinitions } from '../../src/feeds';
import type { FeedDefinition, TransitionDefinition } from '../../src/feeds/definition';
import type { TopicSpec } from '../../src/log/commit-log';
import type { TopicRole } from '../../src/log/kafka/topic-rules';
import { feedTopics } from '../../src/log/topics';

/** A topic of a feed with what its values are. Everything generated goes by this list. */
export interface PublishedTopic {
  readonly feed: FeedDefinition;
  readonly kind: 'changes' | 'transition' | 'current' | 'source-offset' | 'dead-letters';
  /** Without a prefix. */
  readonly spec: TopicSpec;
  readonly schema: RecordSchema;
  /** The record that a change is around, else the schema itself. */
  readonly record: RecordSchema;
  readonly transition: TransitionDefinition | null;
}

/** The topics of all feeds that come with highwater. */
export function publishedTopics(): PublishedTopic[] {
  return feedDefinitions.flatMap((feed) => {
    const topics = feedTopics(feed, '');
    const { record, envelope, transitions } = feedSchemas(feed);
    const topic = (
      kind: PublishedTopic['kind'],
      spec: TopicSpec,
      schema: RecordSchema,
      more: Partial<PublishedTopic> = {},
    ): PublishedTopic => ({ feed, kind, spec, schema, record: schema, transition: null, ...more });
    return [
      topic('changes', topics.changes, envelope, { record }),
      ...feed.transitions.map((transition, i) =>
        topic('transition', topics.transitions[i]!, transitions.get(transition.type)!, { transition }),
      ),
      topic('current', topics.current, record),
      topic('source-offset', topics.sourceOffset, readSchema('source-offset.avsc')),
      topic('dead-letters', topics.deadLetters, readSchema('dead-letter.avsc')),
    ];
  });
}

/** Whether a record without a value takes its key away: the image of a deleted record, a dead letter that was published. */
export function hasTombstones({ kind }: PublishedTopic): boolean {
  return kind === 'current' || kind === 'dead-letters';
}

/** What a topic is to Kafka. */
export function roleOf(kind: PublishedTopic['kind']): TopicRole {
  return kind === 'transition' ? 'changes' : kind;
}
