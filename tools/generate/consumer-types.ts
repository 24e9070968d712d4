import { hasTombstones, type PublishedTopic } from '../../src/avro/published-topics';
import { fullName, type RecordSchema, readSchema } from '../../src/avro/schemas';
import { Interfaces } from '../../src/avro/typescript/interfaces';
import { publishedTopics } from './catalogue';
import { closedTexts } from './closed-texts';

/** `src/consumer/schemas.ts`. */
export function consumerTypes(topics: readonly PublishedTopic[] = publishedTopics()): string {
  const interfaces = new Interfaces({ closedTexts });
  for (const { feed, record } of topics) {
    const name = interfaces.add(record, feed.name);
    if (name !== record.name) throw new Error(`two records are named ${record.name}, and differ`);
  }
  const envelope = readSchema('envelope.avsc');
  const shared = envelope.fields.filter(({ name }) => !['before', 'after', 'op'].includes(name));
  const members = shared.map((field) => interfaces.member(field, envelope)).join('');
  const changes = topics.filter(({ kind }) => kind === 'changes');

  return `// Made by \`npm run build\` from schemas/ and src/feeds: change those, not this.

import type { LogEvent } from './event';

${interfaces.text}
/** What is said of every change, whatever became of the record. */
export interface ChangeFacts {
${members}}

/** A record that was not there before (c), or is shown as it stands (r): read by a snapshot or backfill. */
export interface Appeared<Value> extends ChangeFacts {
  readonly op: 'c' | 'r';
  readonly before: null;
  readonly after: Value;
}

/** A record that differs from what was published before. */
export interface Updated<Value> extends ChangeFacts {
  readonly op: 'u';
  readonly before: Value;
  readonly after: Value;
}

/** A record that is gone. */
export interface Deleted<Value> extends ChangeFacts {
  readonly op: 'd';
  readonly before: Value;
  readonly after: null;
}

/** One change of one record of any feed, told apart by \`op\`. For a feed of your own: with your record type. */
export type RecordChange<Value> = Appeared<Value> | Updated<Value> | Deleted<Value>;

${changes.map(changeType).join('\n')}
/** Name of a feed → its record. */
export interface FeedRecords {
${changes.map(({ feed, record }) => `  readonly '${feed.name}': ${record.name};\n`).join('')}}

/**
 * Name of a topic, without prefix → its events. Where \`highwater.yaml\` routes transitions onto the topic of the changes, that
 * topic has both.
 */
export interface TopicEvents {
${topics.map((topic) => `  readonly '${topic.spec.name}': ${eventsOf(topic)};\n`).join('')}}

/** Anything that highwater publishes, told apart by \`type\`; null is the tombstone of a compacted topic. */
export type HighwaterEvent = TopicEvents[keyof TopicEvents];
`;
}

/** `IpoChange`. */
export function changeName(record: RecordSchema): string {
  return `${record.name}Change`;
}

function changeType({ spec, record }: PublishedTopic): string {
  return `/** A change of the topic \`${spec.name}\`. */\nexport type ${changeName(record)} = RecordChange<${record.name}>;\n`;
}

function eventsOf(topic: PublishedTopic): string {
  const { kind, schema, record } = topic;
  const value = kind === 'changes' ? changeName(record) : record.name;
  const event = `LogEvent<'${fullName(schema)}', ${value}>`;
  return hasTombstones(topic) ? `${event} | LogEvent<null, null>` : event;
}
