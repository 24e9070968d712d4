import type { FeedCodec } from '../avro/codec/feed-codec';
import { readSchemaId } from '../avro/codec/wire';
import type { WireType } from '../avro/codec/wire-type';
import type { SchemaRegistry } from '../avro/registry/registry';
import { HighwaterError } from '../errors';
import type { Feed } from '../feeds/feed';
import type { LogRecord } from '../log/commit-log';
import type { VendorRecord } from '../types';
import { changeInGroups, type GroupChains, GroupIndex, groupTransitions, keyOfGroups } from './group-index';
import type { ImageStore } from './image-store';
import type { SourceOffset } from './source-offset';

/** The images of a feed as far as the log has been read, and what follows from them. */
export interface ReadImages {
  readonly images: ImageStore;
  /** By `keyOfGroups`. Groups that are not there must be made from all images. */
  readonly groups: Map<string, GroupChains>;
  /** Live images in each partition of the current topic. */
  readonly partitionCounts: number[];
}

/** So many steps within groups are as quick as making them anew: at first, and more with each record. */
const [STEPS, STEPS_EACH] = [1_000_000, 100];

/** Images as records of the feed's schema. */
export interface ImageDecoder {
  decode(image: Buffer): VendorRecord;
}

export interface ReadingImages {
  readonly codec: FeedCodec;
  /** For images of all schemas that the codec knows. */
  readonly decoder: ImageDecoder;
  readonly registry: SchemaRegistry;
}

/** Brings images up to date with records of the log. */
export function imageReader(
  feed: Feed,
  { images, groups: allGroups, partitionCounts: counts }: ReadImages,
  { codec, registry, decoder }: ReadingImages,
) {
  const foreign = new Map<string, LogRecord>();
  const recordOf = (number: number) => decoder.decode(images.imageOf(number));
  const groups = groupTransitions(feed).flatMap((transition) => {
    const chains = allGroups.get(keyOfGroups(transition));
    return chains === undefined ? [] : [new GroupIndex(transition, images, recordOf, chains)];
  });

  let steps = STEPS;
  return {
    /** Images of another incarnation that no later record has overwritten or removed yet. */
    foreign: foreign as ReadonlyMap<string, LogRecord>,
    /** Whether `learn` is to be called before `take`. Nearly all writers are known, and each await would cost a promise. */
    isUnknown: (record: LogRecord): boolean =>
      record.value !== null && !codec.image.knowsWriter(writerOf(record)),
    /** Learns the schema that wrote the image. @throws HighwaterError STATE_DAMAGED, REGISTRY_* */
    learn: (record: LogRecord): Promise<void> => learnWriter(codec.image, record, registry),
    /** Takes over a record of the log. @param offset by which the age of the image is known */
    take(record: LogRecord, offset: SourceOffset | null): void {
      const { key, value, partition, headers } = record;
      const number = images.find(key);
      const difference = (value === null ? 0 : 1) - (number === -1 ? 0 : 1);
      counts[partition] = (counts[partition] ?? 0) + difference;
      if (value === null || headers.incarnation === offset?.incarnation) foreign.delete(key);
      else foreign.set(key, record);
      const change = () => {
        if (value === null) return images.delete(key);
        const seq = Number(headers.seq);
        images.set(key, value, {
          isUnshown: seq <= (offset?.snapshot_seq ?? 0),
          isOutOfScope: seq <= (offset?.scope_seq ?? 0),
        });
      };
      if (groups.length === 0) {
        change();
        return;
      }
      const before = number === -1 ? null : recordOf(number);
      changeInGroups(groups, key, before, value && decoder.decode(value), change);
      steps += STEPS_EACH;
      if (groups.every((group) => group.steps < steps)) return;
      // They are large, and quicker made anew from all images.
      groups.length = 0;
      allGroups.clear();
    },
  };
}

/** Whether it only ends reading, for now: the images are those of all records that were taken before. */
export function leavesImagesWhole(error: unknown): boolean {
  const { code = '' } = error as Partial<HighwaterError>;
  return /^((KAFKA|REGISTRY|SCHEMA)_|LOG_(FAILED|RESTORE_STALLED)$)/.test(code);
}

/** Id of the schema that the record's value was written with. */
export function writerOf({ topic, key, value }: LogRecord): number {
  try {
    return readSchemaId(value!);
  } catch (cause) {
    const what = `Topic ${topic} holds a value, of key ${key}, that highwater did not write: it is ${(cause as Error).message}.`;
    throw new HighwaterError('STATE_DAMAGED', what, { cause });
  }
}

/** Another version of the project may have written the record by another schema. */
export async function learnWriter<T>(
  type: WireType<T>,
  record: LogRecord,
  registry: SchemaRegistry,
): Promise<void> {
  const id = writerOf(record);
  type.addWriter(id, await registry.schemaById(id));
}
