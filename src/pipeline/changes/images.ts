import { readSchemaId } from '../../avro/codec/wire';
import type { WireType } from '../../avro/codec/wire-type';
import { merged } from '../../avro/record-shape';
import type { RecordSchema } from '../../avro/schemas';
import type { FeedDefinition } from '../../feeds/definition';
import type { RecordValues, VendorRecord } from '../../types';
import { createDecoder } from '../records/decode';
import { createRowOf } from '../records/row-of';
import { type Comparison, createComparison } from './compare';

/** Images as the log has them, whichever version of the schema wrote them. */
export interface Images {
  /** The record that an image stands for, in the feed's schema: as if the row behind it were decoded today. */
  decode(image: Buffer): VendorRecord;
  compare(image: Buffer, record: VendorRecord): ImageComparison;
}

export interface ImageComparison {
  /** What `decode` makes of the image. */
  readonly beforeRecord: VendorRecord;
  /**
   * Dotted Avro names of the fields in which readers see the two differ (`Comparison`). Empty when nothing differs but the
   * schema: what stood in `extra`, for want of a field, and stands in that field now, is the same.
   */
  readonly changedFields: readonly string[];
}

/** @param schema the feed's record schema; `image` is its type */
export function createImages(
  feed: FeedDefinition,
  schema: RecordSchema,
  image: WireType<VendorRecord>,
): Images {
  const compare = createComparison(schema, feed);
  const others = new Map<number, OtherSchema>();

  function otherSchema(wire: Buffer): OtherSchema | null {
    const id = readSchemaId(wire);
    if (id === image.schemaId) return null;
    let other = others.get(id);
    if (other === undefined) {
      other = otherSchemaOf(feed, schema, image.writerSchema(id) as RecordSchema, compare);
      others.set(id, other);
    }
    return other;
  }

  return {
    decode(wire) {
      const other = otherSchema(wire);
      return other === null ? image.decode(wire) : other.decode(image.decodeAsWritten(wire));
    },
    compare(wire, record) {
      const published = image.decode(wire);
      const other = otherSchema(wire);
      if (other === null)
        return { beforeRecord: published, changedFields: compare(published.values, record.values) };
      const written = image.decodeAsWritten(wire);
      const beforeRecord = other.decode(written);
      if (other.isEqual(written, record)) return { beforeRecord, changedFields: [] };
      return { beforeRecord, changedFields: compare(published.values, record.values) };
    },
  };
}

/** Images of a schema that is not the feed's. */
interface OtherSchema {
  decode(image: Values): VendorRecord;
  isEqual(image: Values, record: VendorRecord): boolean;
}

type Values = Readonly<Record<string, unknown>>;

/**
 * Image and record are compared in a schema that has the fields of both. There each member has the same place on both
 * sides, by the same coercion and the same rules for what is unknown.
 */
function otherSchemaOf(
  feed: FeedDefinition,
  own: RecordSchema,
  writer: RecordSchema,
  compareOwn: Comparison,
): OtherSchema {
  const rowOfImage = createRowOf(writer);
  const decode = decodeOne(feed, own);
  const both = merged(own, writer);
  if (both === own) {
    return {
      decode: (image) => decode(rowOfImage(image)),
      isEqual: (image, record) => compareOwn(decode(rowOfImage(image)).values, record.values).length === 0,
    };
  }
  const rowOfRecord = createRowOf(own);
  const decodeBoth = decodeOne(feed, both);
  const compareBoth = createComparison(both, feed);
  const valuesOf = (row: unknown): RecordValues => decodeBoth(row).values;
  return {
    decode: (image) => decode(rowOfImage(image)),
    isEqual: (image, record) =>
      compareBoth(valuesOf(rowOfImage(image)), valuesOf(rowOfRecord(record.values))).length === 0,
  };
}

function decodeOne(feed: FeedDefinition, schema: RecordSchema): (row: unknown) => VendorRecord {
  const decode = createDecoder(feed, schema);
  return (row) => decode([row]).records[0]!;
}
