import type { FeedDefinition, TransitionDefinition } from '../feeds/definition';
import type { FeedTopics, TopicSpec } from '../log/commit-log';
import { feedTopics } from '../log/topics';
import { feedSchemas, fullName, type RecordSchema, readSchema } from './schemas';

/** The schema of the values of one topic, or of one type in it. */
export interface Subject {
  /** Its name in the registry: `ipos-value`. */
  readonly subject: string;
  readonly schema: RecordSchema;
}

/** A topic of a feed with the type of its values. */
export interface PublishedTopic extends Subject {
  readonly feed: FeedDefinition;
  readonly kind: 'changes' | 'transition' | 'current' | 'source-offset' | 'dead-letters';
  readonly spec: TopicSpec;
  /** The record that a change is around, else the schema itself. */
  readonly record: RecordSchema;
  readonly transition: TransitionDefinition | null;
}

/**
 * Everything that a feed publishes. A topic that is shared by changes and transitions comes once for each of them.
 *
 * Each schema has the subject of its topic (TopicNameStrategy, `ipos-value`). If transitions share the topic of the changes, each type in
 * that topic has its own subject (TopicRecordNameStrategy, `ipos-marketdata.ipos.Envelope`).
 * @param topics of this feed; default: without a prefix
 */
export function topicsOf(
  feed: FeedDefinition,
  topics: FeedTopics = feedTopics(feed, ''),
  schemas = feedSchemas(feed),
): PublishedTopic[] {
  const { record, envelope, transitions } = schemas;
  const isShared = topics.transitions.some(({ name }) => name === topics.changes.name);
  const topic = (
    kind: PublishedTopic['kind'],
    spec: TopicSpec,
    schema: RecordSchema,
    more: Partial<PublishedTopic> = {},
  ): PublishedTopic => {
    const ofMany = isShared && spec.name === topics.changes.name;
    const subject = `${spec.name}-${ofMany ? fullName(schema) : 'value'}`;
    return { feed, kind, spec, subject, schema, record: schema, transition: null, ...more };
  };
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
