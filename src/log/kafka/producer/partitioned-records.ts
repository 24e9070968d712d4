import type { TopicPartition } from 'kafkajs';
import type { Gathered, ProducerRecord } from '../../commit-log';
import { partitionOf } from '../../partitioner';
import { type EncodedRecords, RecordsEncoder } from '../protocol/record-format';

/** The records of a transaction for one partition, sent in one request after the other. */
export interface PartitionSends extends TopicPartition {
  readonly sends: readonly EncodedRecords[];
}

/**
 * Records by the partition of their key, in their order, cut into sends that no broker refuses for their size. The partition is
 * ours to say: kafkajs's own partitioner computes the same with big integers, for 8 µs a record.
 */
export class PartitionedRecords implements Gathered {
  /** By topic, then partition. */
  private readonly topics = new Map<string, (PartitionBatches | undefined)[]>();
  private finished: PartitionSends[] | null = null;
  private isReleased = false;
  /** The batch that was added last. Its value is not to be read: it is written over. */
  last: Omit<ProducerRecord, 'value'> | null = null;
  valueBytes = 0;

  constructor(
    private readonly partitionsOf: (topic: string) => number,
    private readonly maxBatchBytes: number,
  ) {}

  add(records: Iterable<ProducerRecord>): void {
    if (this.finished !== null) throw new RangeError('these records are on their way already');
    const goBack = this.mark();
    try {
      for (const record of records) {
        this.placeOf(record).add(record);
        this.valueBytes += record.value?.length ?? 0;
        this.last = record;
      }
    } catch (error) {
      goBack();
      throw error;
    }
  }

  /** The same whenever it is asked for. Nothing can be added any more. @throws RangeError once it is released */
  sends(): readonly PartitionSends[] {
    if (this.isReleased) throw new RangeError('these records are committed already');
    this.finished ??= [...this.topics].flatMap(([topic, places]) =>
      places.flatMap((place, partition) =>
        place === undefined ? [] : [{ topic, partition, sends: place.finish() }],
      ),
    );
    return this.finished;
  }

  /** They are sent: nobody reads the result of `sends` any more. */
  release(): void {
    for (const places of this.topics.values()) for (const place of places) place?.release();
    this.isReleased = true;
  }

  /** A function that restores the present state. */
  private mark(): () => void {
    const { last, valueBytes } = this;
    const places = [...this.topics.values()].flat().filter((place) => place !== undefined);
    const marks = new Map(places.map((place) => [place, place.mark()]));
    return () => {
      this.last = last;
      this.valueBytes = valueBytes;
      for (const own of this.topics.values()) {
        for (const [partition, place] of own.entries()) {
          if (place === undefined) continue;
          const goBack = marks.get(place);
          if (goBack === undefined) own[partition] = undefined;
          else goBack();
        }
      }
    };
  }

  private placeOf({ topic, key }: ProducerRecord): PartitionBatches {
    let places = this.topics.get(topic);
    if (places === undefined) {
      places = new Array<undefined>(this.partitionsOf(topic)).fill(undefined);
      this.topics.set(topic, places);
    }
    const partition = partitionOf(key, places.length);
    let place = places[partition];
    if (place === undefined) {
      place = new PartitionBatches(this.maxBatchBytes);
      places[partition] = place;
    }
    return place;
  }
}

/** Size of a batch without its records. */
const BATCH_HEADER_BYTES = 128;

/** The records for one partition. */
class PartitionBatches {
  private readonly whole: RecordsEncoder[] = [];
  private growing: RecordsEncoder;

  /** @param maxBytes which a batch stays below, unless it has a single record */
  constructor(private readonly maxBytes: number) {
    this.growing = this.begin();
  }

  add(record: ProducerRecord): void {
    if (this.growing.add(record)) return;
    this.whole.push(this.growing);
    this.growing = this.begin();
    this.growing.add(record);
  }

  mark(): () => void {
    const { growing } = this;
    const count = this.whole.length;
    const goBack = growing.mark();
    return () => {
      this.whole.length = count;
      this.growing = growing;
      goBack();
    };
  }

  finish(): EncodedRecords[] {
    return [...this.whole, this.growing].map((batch) => batch.finish());
  }

  release(): void {
    for (const batch of [...this.whole, this.growing]) batch.release();
  }

  private begin(): RecordsEncoder {
    return new RecordsEncoder(this.maxBytes - BATCH_HEADER_BYTES);
  }
}
