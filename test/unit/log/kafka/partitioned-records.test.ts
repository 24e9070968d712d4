import fc from 'fast-check';
import type { ProducerRecord } from '../../../../src/log/commit-log';
import {
  PartitionedRecords,
  type PartitionSends,
} from '../../../../src/log/kafka/producer/partitioned-records';
import { RecordsDecoder } from '../../../../src/log/kafka/protocol/record-batch';
import type { EncodedRecords } from '../../../../src/log/kafka/protocol/record-format';
import { partitionOf } from '../../../../src/log/partitioner';
import { inOneMemory } from '../../../support/log-records';
import { runs } from '../../../support/runs';

const record = (topic: string, key: string, bytes: number): ProducerRecord => ({
  topic,
  key,
  value: Buffer.alloc(bytes),
  headers: { op: 'c' },
  timestamp: 1_760_000_000_000,
});

const records = fc.array(
  fc
    .record({ topic: fc.constantFrom('a', 'b'), key: fc.string(), bytes: fc.integer({ min: 0, max: 400 }) })
    .map(({ topic, key, bytes }) => record(topic, key, bytes)),
  { maxLength: 200 },
);

function sendsOf(
  given: readonly ProducerRecord[],
  partitions: number,
  maxBytes: number,
): readonly PartitionSends[] {
  const gathered = new PartitionedRecords(() => partitions, maxBytes);
  gathered.add(given);
  return gathered.sends();
}

function decoded({ bytes, count }: EncodedRecords) {
  const decoder = new RecordsDecoder(bytes);
  return Array.from({ length: count }, () => decoder.next()!);
}

it('keeps every record once, in its order within a partition, in the partition of its key', () => {
  fc.assert(
    fc.property(records, (given) => {
      const sent = sendsOf(given, 3, 1_000);

      for (const topic of ['a', 'b']) {
        for (const partition of [0, 1, 2]) {
          const own = sent.filter((one) => one.topic === topic && one.partition === partition);
          const kept = own.flatMap(({ sends }) => sends.flatMap(decoded));
          expect(kept.map(({ key, value }) => ({ key, value }))).toEqual(
            given
              .filter((one) => one.topic === topic && partitionOf(one.key, 3) === partition)
              .map(({ key, value }) => ({ key, value })),
          );
          expect(own.length).toBeLessThan(2);
        }
      }
    }),
    { numRuns: runs(25) },
  );
});

it('never puts more into one send than a broker takes, but for a single record, and sends nothing empty', () => {
  fc.assert(
    fc.property(records, (given) => {
      for (const { sends } of sendsOf(given, 3, 1_000)) {
        for (const { count, bytes } of sends)
          expect(count === 1 || (count > 0 && bytes.length <= 1_000)).toBe(true);
      }
    }),
    { numRuns: runs(25) },
  );
});

it('sends as much in a block as fits', () => {
  const many = Array.from({ length: 2_500 }, (_, i) => record('a', `${i}`, 100));

  const [only] = sendsOf(many, 1, 100_000);

  const counts = only!.sends.map(({ count }) => count);
  expect(counts.reduce((sum, count) => sum + count)).toBe(2_500);
  expect(counts.length).toBeGreaterThan(2);
  expect(Math.min(...counts.slice(0, -1)) * 100).toBeGreaterThan(80_000);
});

it('is the same whether it is given at once or little by little, and is not added to when it is on its way', () => {
  fc.assert(
    fc.property(fc.array(records), (pages) => {
      const gathered = new PartitionedRecords(() => 3, 1_000);
      for (const page of pages) gathered.add(page);

      expect(gathered.sends()).toEqual(sendsOf(pages.flat(), 3, 1_000));
      expect(gathered.valueBytes).toBe(pages.flat().reduce((sum, { value }) => sum + value!.length, 0));
      expect(gathered.sends()).toBe(gathered.sends());
      expect(gathered.last).toBe(pages.flat().at(-1) ?? null);
      expect(() => gathered.add([])).toThrow(RangeError);
    }),
    { numRuns: runs(10) },
  );
});

it('is as it was before where a part could not be taken over', () => {
  function* breaking(given: readonly ProducerRecord[]) {
    yield* given;
    throw new Error('not encoded');
  }
  fc.assert(
    fc.property(records, records, records, (before, broken, behind) => {
      const gathered = new PartitionedRecords(() => 3, 1_000);
      gathered.add(before);
      expect(() => gathered.add(breaking(broken))).toThrow('not encoded');
      expect(gathered.last).toBe(before.at(-1) ?? null);
      gathered.add(behind);
      const whole = new PartitionedRecords(() => 3, 1_000);
      whole.add([...before, ...behind]);
      expect(byPlace(gathered)).toEqual(byPlace(whole));
      expect(gathered.valueBytes).toBe(whole.valueBytes);
    }),
    { numRuns: runs(25) },
  );
});

/** Topics come in the order in which they were first met. */
function byPlace(gathered: PartitionedRecords) {
  return new Map(gathered.sends().map((one) => [`${one.topic} ${one.partition}`, one] as const));
}

it('takes a record over before the next one is written over it', () => {
  fc.assert(
    fc.property(records, (given) => {
      const filled = given.map((one, i) => ({ ...one, value: Buffer.alloc(one.value!.length, i % 251) }));
      const gathered = new PartitionedRecords(() => 3, 1_000);
      gathered.add(inOneMemory(filled));
      expect(gathered.sends()).toEqual(sendsOf(filled, 3, 1_000));
    }),
    { numRuns: runs(10) },
  );
});

it('a committed batch is not sent again, and its memory goes to one other batch', () => {
  const pages = ['a', 'b', 'c'].map((key) => [record('a', key, 1_000), record('b', key, 1_000)]);
  const [first, ...others] = pages.map((page) => {
    const gathered = new PartitionedRecords(() => 1, 10_000);
    gathered.add(page);
    return gathered;
  });
  const memories = (of: PartitionedRecords) =>
    of.sends().flatMap(({ sends }) => sends.map(({ bytes }) => bytes.buffer));
  const released = memories(first!);
  first!.release();
  first!.release();
  expect(() => first!.sends()).toThrow('committed already');

  const next = new PartitionedRecords(() => 1, 10_000);
  next.add(pages.flat());
  const another = new PartitionedRecords(() => 1, 10_000);
  another.add(pages.flat());

  expect(new Set(memories(next))).toEqual(new Set(released));
  const all = [next, another, ...others].flatMap(memories);
  expect(new Set(all).size).toBe(all.length);
});
