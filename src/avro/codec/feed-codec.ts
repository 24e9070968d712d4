import { allEnded } from '../../async/wait';
import { arena } from '../../bytes/arena';
import { HighwaterError } from '../../errors';
import type { FeedDefinition } from '../../feeds/definition';
import { hasUsualKeys } from '../../feeds/row-keys';
import type { FeedTopics } from '../../log/commit-log';
import type { Logger } from '../../logging/logger';
import type { SourceOffset } from '../../state/source-offset';
import type { Change, EventTail, RecordValues, VendorRecord } from '../../types';
import { type PublishedTopic, type Subject, topicsOf } from '../published-topics';
import { recordKeys } from '../record-keys';
import { merged, recordShape } from '../record-shape';
import { incompatibility, incompatible } from '../registry/compatibility';
import type { SchemaRegistry } from '../registry/registry';
import { envelopeOf, type FeedSchemas, type FieldSchema, feedSchemas, type RecordSchema } from '../schemas';
import { plainWriter } from './plain-writer';
import { readSchemaId, WIRE_HEADER_BYTES, writeWireHeader } from './wire';
import { encodeBehind, forSchema, type WireType, wireType } from './wire-type';

/** Encoders and decoders of one feed's values, with the ids under which its schemas are registered. */
export interface FeedCodec {
  readonly schemas: FeedSchemas;
  /** Values of `<feed>.current`; their bytes are also the `before` and `after` of events. */
  readonly image: WireType<VendorRecord>;
  readonly sourceOffset: WireType<SourceOffset>;
  readonly deadLetter: WireType<DeadLetterValue>;
  /** By type name. */
  readonly transitions: ReadonlyMap<string, WireType<Readonly<Record<string, unknown>>>>;
  /** The change event, with its images copied as bytes. It is in the same memory as `WireType.encodeShared`. */
  encodeEnvelope(change: Pick<Change, 'before' | 'after'>, tail: EventTail): Buffer;
  /** To be awaited before values are committed, which nobody could read without their schemas. @throws HighwaterError SCHEMA_LOST */
  confirmIds(): Promise<void>;
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
 * Registers the feed's schemas, or looks them up, before anything is published.
 * @param record the schema by which records are written; by default the schema of the feed's definition
 * @throws HighwaterError SCHEMA_INCOMPATIBLE, SCHEMA_UNREGISTERED, REGISTRY_*
 */
export async function createFeedCodec(
  feed: FeedDefinition,
  topics: FeedTopics,
  registry: SchemaRegistry,
  record?: RecordSchema,
): Promise<FeedCodec> {
  const schemas = feedSchemas(feed, record);
  const published = topicsOf(feed, topics, schemas);
  const ids = await registerAll(published, registry);
  const subjectOf = (kind: PublishedTopic['kind']) => published.find((one) => one.kind === kind)!;
  const typeOf = <T>(subject: Subject): WireType<T> => wireType<T>(subject.schema, ids.get(subject)!);
  const given = new Map([...ids].map(([{ schema }, id]) => [id, schema]));
  const image = imageType(typeOf<RecordValues>(subjectOf('current')), feed, schemas.record);
  return {
    schemas,
    image,
    transitions: new Map(
      published.flatMap((one) => (one.transition === null ? [] : [[one.transition.type, typeOf(one)]])),
    ),
    sourceOffset: typeOf<SourceOffset>(subjectOf('source-offset')),
    deadLetter: typeOf<DeadLetterValue>(subjectOf('dead-letters')),
    encodeEnvelope: envelopeEncoder(schemas.envelope, ids.get(subjectOf('changes'))!, image),
    confirmIds: async () => registry.confirm?.(given),
  };
}

/**
 * The codec by which a feed with images continues: its own, or the codec of a schema that has also the fields of the schemas that wrote the
 * images. So a publisher of an older version continues by the schema of a newer version, and readers of both schemas see each `before` as
 * the `after` that it was (`docs/decisions/0010`).
 *
 * @param own knows all writers of the images
 * @throws HighwaterError REGISTRY_*
 */
export async function codecForImages(
  feed: FeedDefinition,
  topics: FeedTopics,
  registry: SchemaRegistry,
  own: FeedCodec,
  writers: Iterable<number>,
  logger: Logger,
): Promise<FeedCodec> {
  const { image, schemas } = own;
  const schemaOf = (id: number) => image.writerSchema(id) as RecordSchema;
  // In one order, so that instances of one version find the same schema.
  const newestFirst = [...writers].sort((a, b) => b - a);
  const whole = newestFirst.reduce((schema, id) => merged(schema, schemaOf(id)), schemas.record);
  if (whole === schemas.record) return own;
  const facts = { feed: feed.name, own: image.schemaId };
  try {
    // Two of its types may have one name. A server would refuse that in its own way.
    const reason = incompatibility(envelopeOf(feed, whole), []);
    if (reason !== null) throw incompatible(feed.name, reason);
    const codec = await createFeedCodec(feed, topics, registry, whole);
    for (const id of image.writers()) codec.image.addWriter(id, schemaOf(id));
    logger.info(
      `Feed ${feed.name} goes on by a schema that has the fields of its images, too. This version's has fewer.`,
      { ...facts, schemaId: codec.image.schemaId },
    );
    return codec;
  } catch (error) {
    if (
      !(error instanceof HighwaterError) ||
      !/^(SCHEMA_(UNREGISTERED|INCOMPATIBLE)|REGISTRY_REFUSED)$/.test(error.code)
    )
      throw error;
    // An envelope of this version around a record of that schema may be new to the registry, which may refuse it.
    const what = `Feed ${feed.name} goes on by this version's schema, which has fewer fields than its images'.`;
    logger.warn(what, {
      ...facts,
      now: 'Values without a field are published in extra.',
      why: error.message,
    });
    return own;
  }
}

/**
 * All at once, because a registry takes 20 to 50 ms for each subject.
 * @returns the id of each schema
 * @throws the error of the first subject that has one
 */
async function registerAll(
  subjects: readonly Subject[],
  registry: SchemaRegistry,
): Promise<ReadonlyMap<Subject, number>> {
  const ids = await allEnded(subjects.map(async (one) => registry.register(one.subject, one.schema)));
  return new Map(subjects.map((one, i) => [one, ids[i]!]));
}

/** A record that was encoded when its row was read already has its image. */
function imageType(
  wire: WireType<RecordValues>,
  feed: FeedDefinition,
  schema: RecordSchema,
): WireType<VendorRecord> {
  const asRecord = recordOfValues(feed, schema);
  let made: Buffer | null = null;
  const madeOf = ({ image }: VendorRecord): Buffer | null =>
    image !== undefined && readSchemaId(image) === wire.schemaId ? image : null;
  return {
    ...wire,
    decode: (image) => asRecord(wire.decode(image)),
    encode(record) {
      const image = madeOf(record);
      // A copy, because the image is part of a buffer with the images of all rows around it.
      return image === null ? wire.encode(record.values) : Buffer.from(image);
    },
    encodeShared(record) {
      made = madeOf(record);
      return made ?? wire.encodeShared(record.values);
    },
    keep: (shared) => (shared === made ? shared : wire.keep(shared)),
  };
}

/** Makes a record of its decoded fields. */
function recordOfValues(feed: FeedDefinition, schema: RecordSchema): (values: RecordValues) => VendorRecord {
  const isText = schema.fields.some(({ name, type }) => name === 'id' && type === 'string');
  if (isText && hasUsualKeys(feed))
    return (values) => ({ id: values.id as string, updated: values.updated as number, values });
  const keys = recordKeys(feed, recordShape(schema));
  // If the definition named other keys then, an image may lack an id or a readable time. Then any version is newer.
  return (values) => ({ id: keys.id(values) ?? '', updated: keys.updated(values) ?? 0, values });
}

/** The bytes before a value of a union with null: which branch follows. */
const [NULL_BRANCH, RECORD_BRANCH] = [0, 2] as const;

/**
 * An Avro record is its fields one after the other. So an event is two unions around bytes that already exist, and the other fields.
 * A test compares this with encoding the whole envelope.
 */
function envelopeEncoder(
  envelope: RecordSchema,
  schemaId: number,
  image: WireType<VendorRecord>,
): FeedCodec['encodeEnvelope'] {
  const rest: FieldSchema[] = envelope.fields.filter(
    (field) => field.name !== 'before' && field.name !== 'after',
  );
  const tailSchema = { ...envelope, fields: rest };
  const tailType = forSchema(tailSchema);
  const writeTail = plainWriter(recordShape(tailSchema));

  return (change, tail) => {
    const before = inOwnSchema(change.before, image);
    const after = inOwnSchema(change.after, image);
    const bytes = WIRE_HEADER_BYTES + unionBytes(before) + unionBytes(after);
    arena.reserve(bytes);
    const plainEnd = writeTail?.(tail, arena.piece, arena.at + bytes) ?? -1;
    const end = plainEnd < 0 ? encodeBehind(tailType, tail, bytes) : plainEnd;
    const { piece, at } = arena;
    // Last image first: each image is copied with its wire header, which the bytes before the image then overwrite.
    writeUnion(piece, at + WIRE_HEADER_BYTES + unionBytes(before), after);
    writeUnion(piece, at + WIRE_HEADER_BYTES, before);
    writeWireHeader(piece, at, schemaId);
    return arena.written(end);
  };
}

/**
 * Converts an image of another version of the schema to the version in the envelope, by Avro's rules only. So readers see what they saw
 * when the image was published (I3).
 */
function inOwnSchema(wire: Buffer | null, image: WireType<VendorRecord>): Buffer | null {
  return wire === null || wire.readUInt32BE(1) === image.schemaId ? wire : image.encode(image.decode(wire));
}

function unionBytes(wire: Buffer | null): number {
  return wire === null ? 1 : 1 + wire.length - WIRE_HEADER_BYTES;
}

/** Overwrites up to four bytes before `at` too. To copy a part of a buffer, Node would first make a buffer of that part. */
function writeUnion(target: Buffer, at: number, wire: Buffer | null): void {
  wire?.copy(target, at + 1 - WIRE_HEADER_BYTES);
  target[at] = wire === null ? NULL_BRANCH : RECORD_BRANCH;
}
