import type { FeedDefinition } from '../feeds/definition';
import type { FeedTopics } from '../log/commit-log';
import { type FeedSchemas, fullName, type RecordSchema, readSchema } from './schemas';

/** The schema of the values of one topic, or of one type in it. */
export interface Subject {
  /** Its name in the registry: `ipos-value`. */
  readonly subject: string;
  readonly schema: RecordSchema;
}

/** The subjects of everything that one feed publishes. */
export interface FeedSubjects {
  readonly envelope: Subject;
  readonly image: Subject;
  readonly sourceOffset: Subject;
  readonly deadLetter: Subject;
  /** By type name. */
  readonly transitions: ReadonlyMap<string, Subject>;
}

/**
 * Each schema has the subject of its topic (TopicNameStrategy, `ipos-value`). If transitions share the topic of the changes, each type in
 * that topic has its own subject (TopicRecordNameStrategy, `ipos-marketdata.ipos.Envelope`).
 * @param topics of this feed, with the prefix
 */
export function feedSubjects(feed: FeedDefinition, topics: FeedTopics, schemas: FeedSchemas): FeedSubjects {
  const isShared = topics.transitions.some(({ name }) => name === topics.changes.name);
  const subject = (topic: { readonly name: string }, schema: RecordSchema): Subject => {
    const ofMany = isShared && topic.name === topics.changes.name;
    return { subject: `${topic.name}-${ofMany ? fullName(schema) : 'value'}`, schema };
  };
  return {
    envelope: subject(topics.changes, schemas.envelope),
    image: subject(topics.current, schemas.record),
    sourceOffset: subject(topics.sourceOffset, readSchema('source-offset.avsc')),
    deadLetter: subject(topics.deadLetters, readSchema('dead-letter.avsc')),
    transitions: new Map(
      feed.transitions.map(({ type }, i) => [
        type,
        subject(topics.transitions[i]!, schemas.transitions.get(type)!),
      ]),
    ),
  };
}

export function allSubjects(of: FeedSubjects): Subject[] {
  return [of.envelope, ...of.transitions.values(), of.image, of.sourceOffset, of.deadLetter];
}
