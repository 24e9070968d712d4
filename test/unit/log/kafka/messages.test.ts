import fc from 'fast-check';
import type { ProducerRecord } from '../../../../src/log/commit-log';
import { sends } from '../../../../src/log/kafka/messages';
import { partitionOf } from '../../../../src/log/partitioner';

const record = (topic: string, key: string, bytes: number): ProducerRecord => ({
  ...{ topic, key, value: Buffer.alloc(bytes), headers: { op: 'c' }, timestamp: 1_760_000_000_000 },
});

const records = fc.array(
  fc
    .record({ topic: fc.constantFrom('a', 'b'), key: fc.string(), bytes: fc.integer({ min: 0, max: 400 }) })
    .map(({ topic, key, bytes }) => record(topic, key, bytes)),
  { maxLength: 200 },
);

it('keeps every record once, in its order within a topic, in the partition of its key', () => {
  fc.assert(
    fc.property(records, (given) => {
      const sent = [...sends(given, () => 3, 1_000)].flat();

      for (const topic of ['a', 'b']) {
        const expected = given
          .filter((one) => one.topic === topic)
          .map(({ key, value }) => ({ key, value, partition: partitionOf(key, 3) }));
        const messages = sent.filter((one) => one.topic === topic).flatMap((one) => one.messages);
        expect(messages.map(({ key, value, partition }) => ({ key, value, partition }))).toEqual(expected);
      }
    }),
  );
});

it('never puts more into one batch than a broker takes, but for a single record', () => {
  fc.assert(
    fc.property(records, (given) => {
      for (const topics of sends(given, () => 3, 1_000)) {
        expect(new Set(topics.map(({ topic }) => topic)).size).toBe(topics.length);
        for (const { messages } of topics) {
          for (const partition of [0, 1, 2]) {
            const own = messages.filter((message) => message.partition === partition);
            const bytes = own.reduce((sum, { value }) => sum + (value as Buffer).length, 0);
            expect(own.length === 1 || bytes <= 1_000).toBe(true);
          }
        }
      }
    }),
  );
});

it('sends no more than a thousand at a time', () => {
  const many = Array.from({ length: 2_500 }, (_, i) => record('a', `${i}`, 1));

  const counts = [...sends(many, () => 3, 1_000_000)].map(([one]) => one!.messages.length);

  expect(counts).toEqual([1_000, 1_000, 500]);
});
