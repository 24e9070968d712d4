import type { PublishedTopic } from '../../src/avro/published-topics';
import type { AvroSchema } from '../../src/avro/registry/registry';
import { fullName, type RecordSchema } from '../../src/avro/schemas';
import { settingsOf } from '../../src/log/kafka/admin/topic-rules';
import { publishedTopics, roleOf } from './catalogue';
import { closedTexts } from './closed-texts';
import { readExample } from './event-examples';
import { eventHeaders, type Header } from './event-headers';
import { eventTexts } from './event-texts';
import { wrappedMarkdown } from './wrapped-markdown';

const made =
  '<!-- Made by `npm run build` from schemas/, src/feeds and tools/generate: change those, not this. -->';

/** `docs/events`: a page for each type of event, and an index of topics. */
export function eventPages(
  topics: readonly PublishedTopic[] = publishedTopics(),
): ReadonlyMap<string, string> {
  const pages = new Map([['docs/events/README.md', index(topics)]]);
  for (const topic of topics) {
    // The records of `current` topics stand on the page of their changes.
    if (topic.kind === 'current' || pages.has(pageFile(topic))) continue;
    const sameType = topics.filter(({ schema }) => fullName(schema) === fullName(topic.schema));
    pages.set(pageFile(topic), page(topic, sameType, currentOf(topic, topics)));
  }
  return new Map([...pages].map(([file, text]) => [file, wrappedMarkdown(text)]));
}

function pageFile(topic: PublishedTopic): string {
  return `docs/events/${fullName(topic.schema)}.md`;
}

function currentOf({ kind, feed }: PublishedTopic, topics: readonly PublishedTopic[]): PublishedTopic | null {
  if (kind !== 'changes') return null;
  return topics.find((topic) => topic.kind === 'current' && topic.feed === feed)!;
}

function index(topics: readonly PublishedTopic[]): string {
  const rows = topics.map((topic) => {
    const { kind, feed, schema, spec } = topic;
    const type = fullName(schema);
    const page = kind === 'current' ? `marketdata.${feed.name}.Envelope.md#the-record` : `${type}.md`;
    return [`\`${spec.name}\``, `[\`${type}\`](${page})`, `${eventTexts(topic).summary}.`];
  });
  return `${made}

# Events

What highwater publishes, by topic. Names are without \`HIGHWATER_TOPIC_PREFIX\`. The same, for programs, is
[asyncapi.yaml](../asyncapi.yaml); the types for TypeScript come with \`highwater/consumer\`.

${table(['topic', 'value', ''], rows)}
Values are Avro in the Confluent wire format (a zero byte, the schema's id as four bytes, the Avro), keys are plain
text. On Kafka, read with \`isolation.level=read_committed\`. In a compacted topic a record without a value deletes its
key, unless it has the header \`owner_epoch\`: then it is a fence, a record that the publisher writes for itself, and it
says nothing about other records. The key of a fence is \`__highwater_fence\`; a record of the API with this id becomes
a [dead letter](highwater.DeadLetter.md).

The examples on these pages were recorded from a run on the simulated API. \`npm run generate -- --record\` records new
ones.
`;
}

function page(
  topic: PublishedTopic,
  sameType: readonly PublishedTopic[],
  current: PublishedTopic | null,
): string {
  const { schema, record } = topic;
  const type = fullName(schema);
  const { summary, when, whenNot, key } = eventTexts(topic);
  const names = sameType.map(({ spec }) => `\`${spec.name}\``).join(', ');
  const facts = [
    ['topic', names],
    ['key', key],
    ['partitions', String(topic.spec.partitions)],
    ['kept', kept(topic)],
    ['Avro', `[\`${type}\`](../../schemas/history/${topic.spec.name}-value)`],
  ];
  const recordSection = current === null ? '' : `\n${recordPart(current)}`;
  return `${made}

# ${schema.name}${current === null ? '' : ` of ${topic.feed.name}`}

${summary}.

${table(['', ''], facts)}
## When

${list(when)}
and not when

${list(whenNot)}
## Headers

${headerTable(eventHeaders(topic))}
## Fields

${fieldTable(schema, current === null ? undefined : record)}${recordSection}
## Example

${exampleIntroduction(topic)}

\`\`\`json
${JSON.stringify(readExample(topic), null, 2)}
\`\`\`
`;
}

function recordPart(current: PublishedTopic): string {
  return `## The record

\`${fullName(current.schema)}\`, in \`before\` and \`after\`. It is also the value of \`${current.spec.name}\`, a
compacted topic with the latest record of each id, in which a record without a value was deleted. Headers there:

${headerTable(eventHeaders(current))}
${fieldTable(current.schema)}`;
}

function exampleIntroduction({ kind, feed }: PublishedTopic): string {
  const tail = 'As `highwater tail --json` prints it';
  if (kind === 'transition')
    return `${tail}. It is caused by the example of [the change](marketdata.${feed.name}.Envelope.md#example).`;
  const caused =
    kind === 'changes' &&
    feed.transitions.map(({ type }) => `[${type}](marketdata.${feed.name}.${type}.md#example)`);
  return caused && caused.length > 0 ? `${tail}. It causes the example of ${caused.join(', ')}.` : `${tail}.`;
}

function kept({ spec, kind }: PublishedTopic): string {
  if (spec.cleanup === 'delete') return 'all, for ever';
  if (spec.cleanup === 'compact') return 'the latest of each key';
  const { 'retention.ms': ms } = settingsOf(roleOf(kind));
  return `the latest of each key, for ${Number(ms) / 86_400_000} days`;
}

function headerTable(headers: readonly Header[]): string {
  if (headers.length === 0) return 'None.\n';
  return table(
    ['name', 'meaning'],
    headers.map(({ name, meaning }) => [`\`${name}\``, meaning]),
  );
}

/** @param withoutRecord what has a section of its own */
function fieldTable(schema: RecordSchema, withoutRecord?: RecordSchema): string {
  return table(['name', 'type', 'meaning'], [...rowsOf(schema, '', withoutRecord)]);
}

function* rowsOf(schema: RecordSchema, prefix: string, withoutRecord?: RecordSchema): Generator<string[]> {
  for (const field of schema.fields) {
    const name = `${prefix}${field.name}`;
    const closed = closedTexts[schema.name]?.[field.name];
    const type = field.decimalText ? 'decimal text or null' : typeText(field.type);
    const vendor = field.vendorName ? ` The vendor's name: \`${field.vendorName}\`.` : '';
    const doc = String(field.doc ?? '');
    const isTold = closed?.every((text) => doc.includes(text)) ?? true;
    const values = isTold ? '' : ` One of ${closed!.map((text) => `\`${text}\``).join(', ')}.`;
    // Else `<feed>` would be taken for HTML.
    yield [`\`${name}\``, type, `${doc.replaceAll('<', '\\<')}${values}${vendor}`];
    for (const branch of [field.type].flat() as AvroSchema[]) {
      if (typeof branch === 'string' || !('fields' in branch)) continue;
      const nested = branch as unknown as RecordSchema;
      if (nested.name !== withoutRecord?.name) yield* rowsOf(nested, `${name}.`);
    }
  }
}

function typeText(schema: AvroSchema): string {
  if (typeof schema === 'string') return schema.split('.').at(-1)!;
  if (Array.isArray(schema)) {
    const branches = schema as readonly AvroSchema[];
    const nullLast = [...branches.filter((branch) => branch !== 'null'), 'null'];
    return (branches.includes('null') ? nullLast : branches).map(typeText).join(' or ');
  }
  const { type, name, items, values } = schema as { readonly [attribute: string]: AvroSchema };
  if (type === 'array') return `array of ${typeText(items!)}`;
  return type === 'map' ? `map of ${typeText(values!)}` : String(name ?? type);
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `|${cells.map((cell) => (cell === '' ? ' ' : ` ${cell.replaceAll('|', '\\|')} `)).join('|')}|\n`;
  return `${line(heads)}${line(heads.map(() => '---'))}${rows.map(line).join('')}`;
}

function list(items: readonly string[]): string {
  return items.map((item) => `- ${item}\n`).join('');
}
