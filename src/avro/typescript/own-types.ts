import type { FeedDefinition } from '../../feeds/definition';
import { hasTombstones, type PublishedTopic, topicsOf } from '../published-topics';
import { fullName } from '../schemas';
import { Interfaces } from './interfaces';

const made =
  '// Made by `highwater schemas types` from highwater.yaml and the schemas that it names: change those, not this.\n';

const imported = ['DeadLetter', 'LogEvent', 'RecordChange', 'SourceOffset'];
/** Names that the text uses or declares besides the interfaces of records. */
const taken = [...imported, 'OwnFeedRecords', 'OwnTopicEvents', 'Buffer', 'Readonly', 'Record'];

/**
 * TypeScript for programs that read feeds of `highwater.yaml`: their records and events, and their names added to the
 * names that `highwater/consumer` knows.
 */
export function ownTypes(feeds: readonly FeedDefinition[]): string {
  if (feeds.length === 0) return `${made}\nexport {};\n`;
  const interfaces = new Interfaces({ taken });
  const records = new Map<string, string>();
  const events = new Map<string, string[]>();
  for (const topic of feeds.flatMap((feed) => topicsOf(feed))) {
    const { feed, kind, spec, schema, record } = topic;
    const name = commonTypes[kind] ?? interfaces.add(record, feed.name);
    if (kind === 'changes') records.set(feed.name, name);
    const value = kind === 'changes' ? `RecordChange<${name}>` : name;
    const ofTopic = events.get(spec.name) ?? [];
    ofTopic.push(`LogEvent<'${fullName(schema)}', ${value}>`);
    if (hasTombstones(topic)) ofTopic.push('LogEvent<null, null>');
    events.set(spec.name, ofTopic);
  }

  return `${made}
import type { ${imported.join(', ')} } from 'highwater/consumer';

${interfaces.text}
/** Name of a feed → its record. */
export interface OwnFeedRecords {
${[...records].map(([feed, record]) => `  readonly '${feed}': ${record};\n`).join('')}}

/** Name of a topic, without prefix → its events. */
export interface OwnTopicEvents {
${[...events].map(([topic, types]) => `  readonly '${topic}': ${types.join(' | ')};\n`).join('')}}

declare module 'highwater/consumer' {
  interface FeedRecords extends OwnFeedRecords {}
  interface TopicEvents extends OwnTopicEvents {}
}
`;
}

/** Types that every feed has, and that come with the package. */
const commonTypes: Partial<Record<PublishedTopic['kind'], string>> = {
  'source-offset': 'SourceOffset',
  'dead-letters': 'DeadLetter',
};
