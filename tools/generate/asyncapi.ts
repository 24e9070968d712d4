import { stringify } from 'yaml';
import { hasTombstones, type PublishedTopic } from '../../src/avro/published-topics';
import { fullName } from '../../src/avro/schemas';
import { settings } from '../../src/config/settings';
import { settingsOf } from '../../src/log/kafka/admin/topic-rules';
import { version } from '../../src/version';
import { publishedTopics, roleOf } from './catalogue';
import { readExample } from './event-examples';
import { eventHeaders, type Header } from './event-headers';
import { eventTexts } from './event-texts';

const AVRO = 'application/vnd.apache.avro;version=1.9.0';
const KAFKA_BINDING = { bindingVersion: '0.5.0' };
/** The message of a record without a value. */
const TOMBSTONE = 'Tombstone';

type Json = Readonly<Record<string, unknown>>;

/** `docs/asyncapi.yaml`: what a consumer finds on Kafka, in AsyncAPI 3.0. */
export function asyncapi(topics: readonly PublishedTopic[] = publishedTopics()): string {
  const byType = new Map(topics.map((topic) => [fullName(topic.schema), topic]));
  const document = {
    asyncapi: '3.0.0',
    info: {
      title: 'highwater',
      version,
      description:
        'Exactly-once change events of polled REST endpoints. Names of topics are without HIGHWATER_TOPIC_PREFIX; the operations are those of a consumer. Consumers set isolation.level=read_committed. In compacted topics, a record without a value and with the header owner_epoch is a fence: the publisher’s own, not a delete. Its key is __highwater_fence, which no record has as its id.',
      license: { name: 'MIT' },
      tags: [{ name: 'kafka' }, { name: 'avro' }, { name: 'change-data-capture' }],
    },
    defaultContentType: 'application/avro',
    servers: { kafka },
    channels: byName(topics, channel),
    operations: Object.fromEntries(topics.map((topic) => [`receive.${topic.spec.name}`, operation(topic)])),
    components: {
      messages: {
        ...Object.fromEntries([...byType].map(([type, topic]) => [type, message(type, topic)])),
        [TOMBSTONE]: tombstone,
      },
    },
  };
  const heading =
    '# Made by `npm run build` from schemas/, src/feeds and tools/generate: change those, not this.\n';
  return (
    heading + stringify(document, { aliasDuplicateObjects: false, blockQuote: 'literal', lineWidth: 110 })
  );
}

const kafka = {
  host: '{brokers}',
  protocol: 'kafka',
  description: `Kafka 3.9 or later. ${settings.kafkaBrokers.env} of the publisher names its brokers, ${settings.schemaRegistryUrl.env} the schema registry.`,
  variables: { brokers: { default: 'localhost:9092', description: 'Host and port of a broker.' } },
  bindings: {
    kafka: {
      schemaRegistryUrl: 'http://localhost:8081',
      schemaRegistryVendor: 'confluent',
      ...KAFKA_BINDING,
    },
  },
};

function byName(topics: readonly PublishedTopic[], make: (topic: PublishedTopic) => Json): Json {
  return Object.fromEntries(topics.map((topic) => [topic.spec.name, make(topic)]));
}

function channel(topic: PublishedTopic): Json {
  const { spec, schema } = topic;
  const { summary, key, when } = eventTexts(topic);
  return {
    address: spec.name,
    title: spec.name,
    summary: plain(summary),
    description: `Key: ${plain(key)}\n\n${when.map((text) => `- ${text}\n`).join('')}`,
    servers: [{ $ref: '#/servers/kafka' }],
    messages: Object.fromEntries(
      [fullName(schema), ...(hasTombstones(topic) ? [TOMBSTONE] : [])].map((name) => [
        name,
        { $ref: `#/components/messages/${name}` },
      ]),
    ),
    bindings: {
      kafka: {
        topic: spec.name,
        partitions: spec.partitions,
        topicConfiguration: topicConfiguration(topic),
        ...KAFKA_BINDING,
      },
    },
  };
}

/** Of the settings that a topic is created with, those that the binding has a place for. */
function topicConfiguration({ kind }: PublishedTopic): Json {
  const { 'cleanup.policy': policy, 'retention.ms': ms, 'retention.bytes': bytes } = settingsOf(roleOf(kind));
  return {
    'cleanup.policy': policy!.split(','),
    ...(ms === undefined ? {} : { 'retention.ms': Number(ms) }),
    ...(bytes === undefined ? {} : { 'retention.bytes': Number(bytes) }),
  };
}

function operation({ spec }: PublishedTopic): Json {
  return {
    action: 'receive',
    title: `Receive ${spec.name}`,
    channel: { $ref: `#/channels/${spec.name}` },
  };
}

function message(type: string, topic: PublishedTopic): Json {
  const { headers, value } = readExample(topic);
  const { summary, key } = eventTexts(topic);
  return {
    name: type,
    title: topic.schema.name,
    summary: plain(summary),
    contentType: 'application/avro',
    headers: headerSchema(eventHeaders(topic)),
    payload: { schemaFormat: AVRO, schema: topic.schema },
    bindings: { kafka: { ...keyBinding(key), ...wireBinding, ...KAFKA_BINDING } },
    examples: [{ name: 'recorded', headers, payload: value }],
  };
}

const wireBinding = {
  schemaIdLocation: 'payload',
  schemaIdPayloadEncoding: 'confluent',
  schemaLookupStrategy: 'TopicNameStrategy',
};

const tombstone = {
  name: TOMBSTONE,
  title: TOMBSTONE,
  summary: 'A record without a value: what was there by its key is gone',
  payload: { type: 'null' },
  bindings: { kafka: { ...keyBinding('That of the record that is gone.'), ...KAFKA_BINDING } },
};

function keyBinding(meaning: string): Json {
  return { key: { type: 'string', description: plain(meaning) } };
}

function headerSchema(headers: readonly Header[]): Json {
  return {
    type: 'object',
    required: headers.filter(({ isOptional }) => !isOptional).map(({ name }) => name),
    properties: Object.fromEntries(
      headers.map(({ name, meaning }) => [name, { type: 'string', description: meaning }]),
    ),
  };
}

/** Without the marks of Markdown, for what is shown as a line. */
function plain(text: string): string {
  return text.replaceAll('`', '');
}
