import { readSchemaId } from '../../avro/codec/wire';
import type { WireType } from '../../avro/codec/wire-type';
import { merged, type RecordShape, recordShape } from '../../avro/record-shape';
import type { RecordSchema } from '../../avro/schemas';
import type { FeedDefinition } from '../../feeds/definition';
import { removeMembers } from '../../json/remove-members';
import type { RecordValues, VendorRecord } from '../../types';
import { createDecoder } from '../records/decode';
import { createRowOf } from '../records/row-of';
import { type Comparison, createComparison } from './compare';

/** Images as the log has them, whichever version of the schema wrote them. */
export interface Images {
  /** The record that an image stands for, as if its row were decoded today, by the feed's schema. */
  decode(image: Buffer): VendorRecord;
  compare(image: Buffer, record: VendorRecord): ImageComparison;
  /** Whether readers see no difference; false if the two cannot be compared. */
  isShownBy(image: Buffer, record: VendorRecord): boolean;
  /** The image without what the feed's `omit` names. It is the image itself if that holds nothing of it. */
  withoutOmitted(image: Buffer): Buffer;
}

export interface ImageComparison {
  /** The image as `decode` returns it. */
  readonly beforeRecord: VendorRecord;
  /**
   * Dotted Avro names of the fields in which readers see the two differ (`Comparison`). Empty if only the schema differs: a value
   * that was in `extra`, because it had no field, and is in its field now, is the same.
   */
  readonly changedFields: readonly string[];
}

/** @param schema the feed's record schema, of the type `image` */
export function createImages(
  feed: FeedDefinition,
  schema: RecordSchema,
  image: WireType<VendorRecord>,
): Images {
  const shape = recordShape(schema);
  const compare = comparisonOf(feed, shape);
  const rowOf = createRowOf(shape);
  const decodeRow = decodeOne(feed, shape);
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

  const images: Images = {
    decode(wire) {
      return otherSchema(wire)?.decode(image.decodeAsWritten(wire)) ?? image.decode(wire);
    },
    compare(wire, record) {
      const published = image.decode(wire);
      const other = otherSchema(wire);
      if (other === null)
        return { beforeRecord: published, changedFields: compare(published.values, record.values) };
      const written = image.decodeAsWritten(wire);
      const beforeRecord = other.decode(written) ?? published;
      const inBoth = other.differences(written, record);
      if (inBoth?.length === 0) return { beforeRecord, changedFields: [] };
      const inOwn = compare(published.values, record.values);
      // A field that only the other schema has may have changed.
      return { beforeRecord, changedFields: inOwn.length > 0 ? inOwn : (inBoth ?? []) };
    },
    isShownBy(wire, record) {
      try {
        return images.compare(wire, record).changedFields.length === 0;
      } catch {
        return false;
      }
    },
    withoutOmitted(wire) {
      if (feed.omit.length === 0) return wire;
      const written = otherSchema(wire)?.rowOf(image.decodeAsWritten(wire));
      // An image of other keys is a record only in the feed's own schema.
      const isRecord = written !== undefined && decodeRow(written) !== undefined;
      const row = isRecord ? written : rowOf(image.decode(wire).values);
      const isChanged = removeMembers(row, feed.omit).size > 0;
      const record = isChanged ? decodeRow(row) : undefined;
      return record === undefined ? wire : image.encode(record);
    },
  };
  return images;
}

/** A member that `ignore` names is taken out of both sides, as if the vendor had not sent it. */
function comparisonOf(feed: FeedDefinition, shape: RecordShape): Comparison {
  const compare = createComparison(shape, feed);
  if (feed.ignore.length === 0) return compare;
  const rowOf = createRowOf(shape);
  const decode = decodeOne(feed, shape);
  const compared = (values: RecordValues): RecordValues => {
    const row = rowOf(values);
    removeMembers(row, feed.ignore);
    return decode(row)?.values ?? values;
  };
  return (before, after) => compare(compared(before), compared(after));
}

type Values = Readonly<Record<string, unknown>>;

/** Images of a schema that is not the feed's. */
interface OtherSchema {
  rowOf(image: Values): Record<string, unknown>;
  /** Undefined for an image without the feed's id or time. */
  decode(image: Values): VendorRecord | undefined;
  /** Fields of either schema in which the two differ; null if the image cannot be compared so. */
  differences(image: Values, record: VendorRecord): string[] | null;
}

/**
 * Image and record are compared in a schema that has the fields of both. There each member has the same place on both sides, by
 * the same coercion and the same rules for unknown values.
 */
function otherSchemaOf(
  feed: FeedDefinition,
  own: RecordSchema,
  writer: RecordSchema,
  compareOwn: Comparison,
): OtherSchema {
  const rowOfImage = createRowOf(recordShape(writer));
  const rowOfRecord = createRowOf(recordShape(own));
  const decode = decodeOne(feed, recordShape(own));
  const both = merged(own, writer);
  const isOwn = both === own;
  const decodeBoth = isOwn ? decode : decodeOne(feed, recordShape(both));
  const compareBoth = isOwn ? compareOwn : comparisonOf(feed, recordShape(both));
  return {
    rowOf: rowOfImage,
    decode: (image) => decode(rowOfImage(image)),
    differences(image, record) {
      const before = decodeBoth(rowOfImage(image));
      const after = isOwn ? record : decodeBoth(rowOfRecord(record.values));
      return before && after ? compareBoth(before.values, after.values) : null;
    },
  };
}

/** @returns undefined for a row without the feed's id or time: it was published when the feed had other keys */
function decodeOne(feed: FeedDefinition, shape: RecordShape): (row: unknown) => VendorRecord | undefined {
  const decode = createDecoder(feed, shape);
  return (row) => decode([row]).records[0];
}
