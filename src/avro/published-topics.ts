import type { FeedDefinition, TransitionDefinition } from '../feeds/definition';
import type { TopicSpec } from '../log/commit-log';
import { feedTopics } from '../log/topics';
import { feedSchemas, type RecordSchema, readSchema } from './schemas';

/** A topic of a feed with the type of its values. */
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

/** A topic that is shared by changes and transitions comes once for each of them. */
export function topicsOf(feed: FeedDefinition): PublishedTopic[] {
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
}

/** Whether the topic has tombstones: for deleted records, or for dead letters that were published. */
export function hasTombstones({ kind }: PublishedTopic): boolean {
  return kind === 'current' || kind === 'dead-letters';
}
