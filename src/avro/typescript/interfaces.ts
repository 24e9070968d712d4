import wrapAnsi from 'wrap-ansi';
import type { FeedDefinition } from '../../feeds/definition';
import { hasTombstones, type PublishedTopic, topicsOf } from '../published-topics';
import type { AvroSchema } from '../registry/registry';
import { type FieldSchema, fullName, type RecordSchema } from '../schemas';

// Neither library fits: @ovotech/avro-ts (needs TypeScript 4 at run time) also writes every schema as text, and avro-typescript
// writes `field?: null | undefined | string` for a field that is always present. Both drop `doc`.

const primitives: Readonly<Record<string, string>> = {
  null: 'null',
  boolean: 'boolean',
  int: 'number',
  long: 'number',
  float: 'number',
  double: 'number',
  bytes: 'Buffer',
  string: 'string',
};

export interface InterfaceOptions {
  /** Texts that a field of type string is limited to, by the record's short name and the field's. */
  readonly closedTexts?: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  /** Names that no interface gets. */
  readonly taken?: readonly string[];
}

/**
 * TypeScript of Avro records: an interface for each, nested ones before the interfaces that contain them. Equal records
 * share one.
 */
export class Interfaces {
  /** Name → the text within the braces, with the doc. */
  private readonly bodies = new Map<string, { readonly doc: string; readonly members: string }>();
  /** Short name of a record or an enum → its type, for schemas that refer to it by name. */
  private readonly named = new Map<string, string>();

  constructor(private readonly options: InterfaceOptions = {}) {}

  get text(): string {
    return [...this.bodies]
      .map(([name, { doc, members }]) => `${doc}export interface ${name} {\n${members}}\n`)
      .join('\n');
  }

  /**
   * The name of the record's interface: the record's short name, after the owner's name if a different record has the short name.
   * @param owner what the record belongs to: its feed, or the record that it is nested in
   */
  add(schema: RecordSchema, owner: string): string {
    const short = shortName(schema.name);
    const body = {
      doc: docOf(schema.doc),
      members: schema.fields.map((field) => this.member(field, schema)).join(''),
    };
    const name = this.freeName(capitalised(short), capitalised(owner), body);
    this.bodies.set(name, body);
    this.named.set(short, name);
    return name;
  }

  /** The field with its doc, as a member of an interface. */
  member(field: FieldSchema, of: RecordSchema): string {
    const short = shortName(of.name);
    const type = this.typeOf(field.type, short, this.options.closedTexts?.[short]?.[field.name]);
    return `${docOf(field.doc, '  ')}  readonly ${field.name}: ${type};\n`;
  }

  private freeName(short: string, owner: string, { doc, members }: { doc: string; members: string }): string {
    const isFree = (name: string) => {
      const known = this.bodies.get(name);
      if (known === undefined) return !this.options.taken?.includes(name);
      return known.doc === doc && known.members === members;
    };
    if (isFree(short)) return short;
    let name = owner + short;
    for (let number = 2; !isFree(name); number++) name = `${owner}${short}${number}`;
    return name;
  }

  private typeOf(schema: AvroSchema, owner: string, closed?: readonly string[]): string {
    const { named } = this;
    if (typeof schema === 'string') {
      if (schema === 'string' && closed) return literals(closed);
      return primitives[schema] ?? named.get(shortName(schema)) ?? 'unknown';
    }
    if (isUnion(schema)) {
      const nullLast = [
        ...schema.filter((branch) => branch !== 'null'),
        ...schema.filter((branch) => branch === 'null'),
      ];
      return nullLast.map((branch) => this.typeOf(branch, owner, closed)).join(' | ');
    }
    switch (schema.type) {
      case 'record':
        return this.add(schema as unknown as RecordSchema, owner);
      case 'enum': {
        const type = literals(schema.symbols as readonly string[]);
        named.set(shortName(schema.name as string), type);
        return type;
      }
      case 'array': {
        const item = this.typeOf(schema.items as AvroSchema, owner);
        return item.includes(' ') ? `readonly (${item})[]` : `readonly ${item}[]`;
      }
      case 'map':
        return `Readonly<Record<string, ${this.typeOf(schema.values as AvroSchema, owner)}>>`;
      case 'fixed':
        return 'Buffer';
      default:
        // A type with attributes, such as a logical type: readers see the type beneath it.
        return this.typeOf(schema.type as AvroSchema, owner, closed);
    }
  }
}

function docOf(doc: unknown, indent = ''): string {
  return typeof doc === 'string' ? comment(doc, indent) : '';
}

function literals(texts: readonly string[]): string {
  return texts.map((text) => `'${text}'`).join(' | ');
}

function shortName(name: string): string {
  return name.split('.').at(-1)!;
}

/** `orders-eu` → `OrdersEu`, which is not a reserved word. */
function capitalised(name: string): string {
  return name.replace(/(?:^|[^A-Za-z0-9_]+)([A-Za-z0-9_])/g, (_, first: string) => first.toUpperCase());
}

function isUnion(schema: AvroSchema): schema is readonly AvroSchema[] {
  return Array.isArray(schema);
}

const COLUMNS = 110;

/** TSDoc of a text, in as many lines as it takes. */
function comment(text: string, indent = ''): string {
  const safe = text.replaceAll('*/', '*\\/');
  const oneLine = `${indent}/** ${safe} */`;
  if (oneLine.length <= COLUMNS) return `${oneLine}\n`;
  const lines = wrapAnsi(safe, COLUMNS - indent.length - 3).split('\n');
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join('')}${indent} */\n`;
}

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
