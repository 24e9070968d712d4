import type { FeedDefinition } from '../feeds/definition';
import type { FeedTopics } from '../log/commit-log';
import type { SourceOffset } from '../state/source-offset';
import type { Change, EventTail, VendorRecord } from '../types';
import type { SchemaRegistry } from './registry';
import {
  type FeedSchemas,
  type FieldSchema,
  feedSchemas,
  fullName,
  type RecordSchema,
  readSchema,
} from './schemas';
import { WIRE_HEADER_BYTES, writeWireHeader } from './wire';
import { type WireType, wireType } from './wire-type';

/** Everything of one feed that becomes Avro bytes, with the ids under which its schemas are registered. */
export interface FeedCodec {
  readonly schemas: FeedSchemas;
  /** Values of `<feed>.current`; their bytes are also the `before` and `after` of events. */
  readonly image: WireType<VendorRecord>;
  readonly sourceOffset: WireType<SourceOffset>;
  readonly deadLetter: WireType<DeadLetterValue>;
  /** By type name. */
  readonly transitions: ReadonlyMap<string, WireType<Readonly<Record<string, unknown>>>>;
  /** The change event, its images taken over as bytes. */
  encodeEnvelope(change: Pick<Change, 'before' | 'after'>, tail: EventTail): Buffer;
}

export interface DeadLetterValue {
  readonly feed: string;
  readonly reason: string;
  readonly raw: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly ts_ms: number;
}

/**
 * Registers the feed's schemas, before anything is published: each under the subject of its topic (TopicNameStrategy,
 * `ipos-value`); where transitions share the topic of the changes, that topic's under one for each type
 * (TopicRecordNameStrategy, `ipos-marketdata.ipos.Envelope`).
 * @throws HighwaterError SCHEMA_INCOMPATIBLE
 */
export async function createFeedCodec(
  feed: FeedDefinition,
  topics: FeedTopics,
  registry: SchemaRegistry,
): Promise<FeedCodec> {
  const schemas = feedSchemas(feed);
  const isShared = topics.transitions.some(({ name }) => name === topics.changes.name);
  const idOf = (topic: string, schema: RecordSchema): Promise<number> => {
    const ofMany = isShared && topic === topics.changes.name;
    return registry.register(`${topic}-${ofMany ? fullName(schema) : 'value'}`, schema);
  };
  const register = async <T>(topic: string, schema: RecordSchema): Promise<WireType<T>> =>
    wireType<T>(schema, await idOf(topic, schema));

  const transitions = new Map<string, WireType<Readonly<Record<string, unknown>>>>();
  for (const [i, transition] of feed.transitions.entries()) {
    transitions.set(
      transition.type,
      await register(topics.transitions[i]!.name, schemas.transitions.get(transition.type)!),
    );
  }
  const image = await register<VendorRecord>(topics.current.name, schemas.record);
  const envelopeId = await idOf(topics.changes.name, schemas.envelope);
  return {
    schemas,
    image,
    transitions,
    sourceOffset: await register<SourceOffset>(topics.sourceOffset.name, readSchema('source-offset.avsc')),
    deadLetter: await register<DeadLetterValue>(topics.deadLetters.name, readSchema('dead-letter.avsc')),
    encodeEnvelope: envelopeEncoder(schemas.envelope, envelopeId, image),
  };
}

const NULL_BRANCH = Buffer.from([0]);
const RECORD_BRANCH = Buffer.from([2]);

/**
 * An Avro record is its fields one after the other, so an event is two unions around bytes that exist already, and the
 * rest. A test holds this equal to encoding the whole envelope.
 */
function envelopeEncoder(
  envelope: RecordSchema,
  schemaId: number,
  image: WireType<VendorRecord>,
): FeedCodec['encodeEnvelope'] {
  const rest: FieldSchema[] = envelope.fields.filter(
    (field) => field.name !== 'before' && field.name !== 'after',
  );
  const tailType = wireType<EventTail>({ ...envelope, fields: rest }, schemaId);
  const header = Buffer.alloc(WIRE_HEADER_BYTES);
  writeWireHeader(header, schemaId);

  return (change, tail) =>
    Buffer.concat([
      header,
      ...union(change.before, image),
      ...union(change.after, image),
      tailType.encodeShared(tail).subarray(WIRE_HEADER_BYTES),
    ]);
}

function union(wire: Buffer | null, image: WireType<VendorRecord>): Buffer[] {
  if (wire === null) return [NULL_BRANCH];
  // An image written by an older version of the schema is brought to the one that the envelope embeds.
  const current = wire.readUInt32BE(1) === image.schemaId ? wire : image.encode(image.decode(wire));
  return [RECORD_BRANCH, current.subarray(WIRE_HEADER_BYTES)];
}
