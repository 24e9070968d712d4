import { readSchemaId } from '../avro/codec/wire';
import type { WireType } from '../avro/codec/wire-type';
import type { SchemaRegistry } from '../avro/registry/registry';
import { HighwaterError } from '../errors';
import type { LogRecord } from '../log/commit-log';
import { changeInGroups, GroupIndex, groupTransitions, keyOfGroups } from './group-index';
import { keepImages, type ReadImages, type Reading } from './kept-images';
import type { SourceOffset } from './source-offset';

/** So many steps within groups are as quick as making them anew: at first, and more with each record. */
const [STEPS, STEPS_EACH] = [1_000_000, 100];

/**
 * Brings images up to date with records of the log.
 * @param offsets of the records to go on with, by partition; moved with each of them
 */
export function imageReader(
  read: ReadImages,
  { feed, topics, codec, registry, decoder }: Reading,
  offsets: number[],
) {
  const { images, partitionCounts: counts } = read;
  const foreign = new Map<string, LogRecord>();
  const recordOf = (number: number) => decoder.decode(images.imageOf(number));
  const groups = groupTransitions(feed).flatMap((transition) => {
    const chains = read.groups.get(keyOfGroups(transition));
    return chains === undefined ? [] : [new GroupIndex(transition, images, recordOf, chains)];
  });

  let steps = STEPS;
  return {
    /** Images of another incarnation, and values of another program, that no later record has replaced or removed yet. None is taken. */
    foreign: foreign as ReadonlyMap<string, LogRecord>,
    /**
     * Learns the schema that wrote the image, before `take`. @returns undefined: nearly all are known, and each await would cost a promise
     * @throws HighwaterError STATE_DAMAGED, REGISTRY_*
     */
    learn: (record: LogRecord, offset: SourceOffset | null): Promise<void> | undefined =>
      record.value === null || isForeign(record, offset)
        ? undefined
        : learnWriter(codec.image, record, registry),
    /** Takes over a record of the log. @param offset by which the age of the image is known */
    take(record: LogRecord, offset: SourceOffset | null): void {
      const { key, value, partition, logOffset, headers } = record;
      offsets[partition] = logOffset + 1;
      if (value !== null && isForeign(record, offset)) {
        foreign.set(key, record);
        return;
      }
      foreign.delete(key);
      const number = images.find(key);
      const difference = (value === null ? 0 : 1) - (number === -1 ? 0 : 1);
      counts[partition] = (counts[partition] ?? 0) + difference;
      const change = () => {
        if (value === null) return images.delete(key);
        const seq = Number(headers.seq);
        images.set(key, value, {
          isUnshown: seq <= (offset?.snapshot_seq ?? 0),
          isOutOfScope: seq <= (offset?.scope_seq ?? 0),
        });
      };
      if (groups.length === 0) change();
      else {
        const before = number === -1 ? null : recordOf(number);
        changeInGroups(groups, key, before, value && decoder.decode(value), change);
        steps += STEPS_EACH;
        // They are large, and quicker made anew from all images.
        if (groups.some((group) => group.steps >= steps)) {
          groups.length = 0;
          read.groups.clear();
        }
      }
    },
    /** Keeps the images as far as they have been read, with the source offset that they go with. */
    keep(topicId: string | null, offset: SourceOffset): Promise<void> {
      const end = { topicId, offsets, commit: null };
      return keepImages(read, offset, { topic: topics.current.name, end, schemaId: codec.image.schemaId });
    },
  };
}

function isForeign({ headers }: LogRecord, offset: SourceOffset | null): boolean {
  return headers.incarnation !== offset?.incarnation;
}

/** Whether it only ends reading, for now: the images are those of all records that were taken before. */
export function leavesImagesWhole(error: unknown): boolean {
  const { code = '' } = error as Partial<HighwaterError>;
  return /^((KAFKA|REGISTRY|SCHEMA)_|LOG_(FAILED|RESTORE_STALLED)$)/.test(code);
}

/** Another version of the project may have written the record by another schema. @returns undefined: it is known */
export function learnWriter<T>(
  type: WireType<T>,
  record: LogRecord,
  registry: SchemaRegistry,
): Promise<void> | undefined {
  const id = writerOf(record);
  if (type.knowsWriter(id)) return undefined;
  return registry.schemaById(id).then((schema) => type.addWriter(id, schema));
}

/** Id of the schema that the record's value was written with. */
function writerOf({ topic, key, value }: LogRecord): number {
  try {
    return readSchemaId(value!);
  } catch (cause) {
    const what = `Topic ${topic} holds a value, of key ${key}, that highwater did not write: it is ${(cause as Error).message}.`;
    throw new HighwaterError('STATE_DAMAGED', what, { cause });
  }
}
