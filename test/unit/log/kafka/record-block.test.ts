import fc from 'fast-check';
import { CompressionTypes, type Message } from 'kafkajs';
import type { ProducerRecord } from '../../../../src/log/commit-log';
import { registerCodecs } from '../../../../src/log/kafka/compression';
import {
  asBlock,
  asMessages,
  blocksAreTaken,
  type NewSend,
  type ProduceRequestEncoder,
} from '../../../../src/log/kafka/record-block';

const produceRequest: ProduceRequestEncoder = require('kafkajs/src/protocol/requests/produce/v3/request');

/** Timestamps as kafkajs compares them: as texts, so all of one length. */
const timestamp = fc.integer({ min: 1_000_000_000_000, max: 9_999_999_999_999 });
const nearly = fc.integer({ min: 1_760_000_000_000, max: 1_760_000_000_200 });
// Bytes, and texts that are none in Unicode: half a pair of surrogates.
const text = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ unit: 'binary' }),
  // Of two bytes each at most: names of people.
  fc.string({ unit: fc.constantFrom('a', 'é', 'ß', '\u07ff') }),
  fc.constantFrom('\ud800', 'x'.repeat(5_000)),
);
const size = fc.oneof(fc.nat(80), fc.constantFrom(8_180, 20_000, 1_100_000));
const record: fc.Arbitrary<ProducerRecord> = fc.record({
  topic: fc.constant('ipos'),
  key: text,
  value: fc.option(fc.tuple(size, fc.nat(255)).map(([bytes, fill]) => Buffer.alloc(bytes, fill))),
  headers: fc.dictionary(text, text, { maxKeys: 12 }).map((given) => ({ ...given })),
  timestamp: fc.oneof(nearly, timestamp),
});

/** All in one send, which none of them is older than. */
function whole(newSend: NewSend, records: readonly ProducerRecord[]): Message[] {
  const send = newSend(1, Number.POSITIVE_INFINITY);
  for (const record of inOrder(records)) expect(send.add(record)).toBe(true);
  return send.finish();
}

/** The oldest one first. */
function inOrder(records: readonly ProducerRecord[]): ProducerRecord[] {
  const times = records.map(({ timestamp }) => timestamp);
  const oldest = times.indexOf(Math.min(...times));
  return [records[oldest]!, ...records.filter((_, i) => i !== oldest)];
}

async function produced(messages: Message[], compression: CompressionTypes): Promise<Buffer> {
  const { buffer } = await produceRequest({
    ...{ acks: -1, timeout: 30_000, transactionalId: 'id', producerId: '1', producerEpoch: 2, compression },
    topicData: [{ topic: 'ipos', partitions: [{ partition: 1, firstSequence: 3, messages }] }],
  }).encode();
  return buffer;
}

it('a block is written byte for byte as its messages are', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(record, { minLength: 1, maxLength: 20 }), async (records) => {
      const block = await produced(whole(asBlock, records), CompressionTypes.None);
      expect(block.equals(await produced(whole(asMessages, records), CompressionTypes.None))).toBe(true);
    }),
    { numRuns: 200 },
  );
});

it.each(['GZIP', 'LZ4', 'ZSTD'] as const)('a block is compressed as its messages are: %s', async (codec) => {
  registerCodecs();
  const records = fc.sample(record, { numRuns: 50, seed: 7 });
  const block = await produced(whole(asBlock, records), CompressionTypes[codec]);
  expect(block.equals(await produced(whole(asMessages, records), CompressionTypes[codec]))).toBe(true);
});

it('the same block is encoded again to the same bytes: a send is tried again with it', async () => {
  const block = whole(asBlock, fc.sample(record, { numRuns: 10, seed: 3 }));
  const first = await produced(block, CompressionTypes.None);
  // Other sends are encoded in between.
  whole(asBlock, fc.sample(record, { numRuns: 30, seed: 4 }));
  expect((await produced(block, CompressionTypes.None)).equals(first)).toBe(true);
});

it('blocks that grow at the same time keep to themselves', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(2), record), { minLength: 1, maxLength: 30 }),
      async (given) => {
        const sends = [0, 1, 2].map(() => asBlock(1, Number.POSITIVE_INFINITY));
        const own: ProducerRecord[][] = [[], [], []];
        for (const [which, one] of given) if (sends[which]!.add(one)) own[which]!.push(one);
        for (const [which, send] of sends.entries()) {
          if (own[which]!.length === 0) continue;
          const [block, alone] = [send.finish(), whole(asMessages, own[which]!)];
          expect(
            (await produced(block, CompressionTypes.None)).equals(
              await produced(alone, CompressionTypes.None),
            ),
          ).toBe(true);
        }
      },
    ),
    { numRuns: 100 },
  );
});

it('a block takes no record that is older than its first one, and no more bytes than it may have', () => {
  const send = asBlock(1, 10_000);
  const of = (ms: number, bytes: number): ProducerRecord => ({
    ...{
      topic: 'ipos',
      key: 'k',
      value: Buffer.alloc(bytes),
      headers: {},
      timestamp: 1_760_000_000_000 + ms,
    },
  });
  expect([of(5, 20_000), of(6, 1)].map((one) => send.add(one))).toEqual([true, false]);
  const next = asBlock(1, 10_000);
  expect([of(5, 4_000), of(4, 1), of(5, 4_000), of(9, 4_000), of(5, 10)].map((one) => next.add(one))).toEqual(
    [true, false, true, false, true],
  );
  expect(next.finish()).toHaveLength(3);
});

it('is taken by the kafkajs that is installed', async () => {
  await expect(blocksAreTaken()).resolves.toBe(true);
});

const others: readonly (readonly [string, () => ProduceRequestEncoder])[] = [
  [
    'is not there any more',
    () => {
      throw new Error("Cannot find module 'kafkajs/src'");
    },
  ],
  [
    'goes through messages one by one',
    () => (of) => {
      const request = of as { topicData: { partitions: { messages: Message[] }[] }[] };
      const [topic] = request.topicData;
      const [partition] = topic!.partitions;
      const messages = Array.from({ length: partition!.messages.length }, (_, i) => partition!.messages[i]);
      return produceRequest({ ...of, topicData: [{ ...topic, partitions: [{ ...partition, messages }] }] });
    },
  ],
  [
    'has another format',
    () => (of) => ({
      async encode() {
        const { topicData } = of as { topicData: { partitions: { messages: Message[] }[] }[] };
        const messages = [...topicData[0]!.partitions[0]!.messages];
        return { buffer: Buffer.from(JSON.stringify(messages)) };
      },
    }),
  ],
];

it.each(others)('is not handed to a kafkajs that %s', async (_, kafkajs) => {
  await expect(blocksAreTaken(kafkajs)).resolves.toBe(false);
});
