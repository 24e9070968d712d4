import fc from 'fast-check';
import { CompressionTypes } from 'kafkajs';
import { HighwaterError } from '../../../../src/errors';
import type { LogRecord } from '../../../../src/log/commit-log';
import { decodeAnswer } from '../../../../src/log/kafka/protocol/fetch';
import { readBatches, recordsOf } from '../../../../src/log/kafka/protocol/record-batch';
import { anyCharacter } from '../../../support/any-character';
import { fetchedBatch } from '../../../support/fetched';
import { registerCodecs } from '../../../support/kafkajs-codecs';
import { runs } from '../../../support/runs';

registerCodecs();
const theirs = {
  Encoder: require('kafkajs/src/protocol/encoder'),
  Record: require('kafkajs/src/protocol/recordBatch/record/v0'),
  RecordBatch: require('kafkajs/src/protocol/recordBatch/v0').RecordBatch,
  fetch: require('kafkajs/src/protocol/requests/fetch'),
};

interface Batch {
  readonly firstOffset: bigint;
  readonly firstTimestamp: number;
  readonly producerId: bigint;
  readonly transactional: boolean;
  readonly compression: CompressionTypes;
  readonly records: readonly object[];
}

const text = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: anyCharacter, maxLength: 12 }),
  // Texts that are nearly equal again and again, like headers, and texts with as many units as others have bytes.
  fc.constantFrom('op', 'c', 'u', 'é', 'éa', 'Ã©', 'x'.repeat(200)),
);
const bytes = fc.oneof(
  text.map((one) => Buffer.from(one)),
  fc.uint8Array({ maxLength: 20 }).map((one) => Buffer.from(one)),
);
const record = fc.record({
  key: fc.option(bytes),
  value: fc.option(fc.oneof(bytes, fc.constant(Buffer.alloc(9_000, 'value')))),
  headers: fc.dictionary(text, fc.oneof(bytes, fc.array(bytes, { minLength: 1, maxLength: 3 })), {
    maxKeys: 5,
    noNullPrototype: true,
  }),
  timestampDelta: fc.oneof(fc.nat(1_000), fc.integer({ min: -(2 ** 45), max: 2 ** 45 })),
});
const batch: fc.Arbitrary<Batch> = fc.record({
  firstOffset: fc.bigInt({ min: 0n, max: 2n ** 52n }),
  firstTimestamp: fc.integer({ min: -1, max: 2 ** 45 }),
  producerId: fc.bigInt({ min: -1n, max: 2n ** 62n }),
  transactional: fc.boolean(),
  compression: fc.constantFrom(CompressionTypes.None, CompressionTypes.GZIP, CompressionTypes.LZ4),
  records: fc.array(record, { maxLength: 6 }),
});

async function encodeBatch({ records, ...given }: Batch): Promise<Buffer> {
  const encoded = records.map((one, offsetDelta) => theirs.Record({ ...one, offsetDelta }));
  const { buffer } = await theirs.RecordBatch({
    ...given,
    maxTimestamp: given.firstTimestamp,
    lastOffsetDelta: records.length,
    // With nothing in it there is nothing to compress.
    ...(records.length === 0 ? { compression: CompressionTypes.None } : {}),
    records: encoded,
  });
  return buffer;
}

/** The versions that brokers with transactions may answer in. */
const versions: readonly number[] = theirs.fetch.versions.map(Number).filter((one: number) => one >= 4);

function answerOf(
  version: number,
  topics: readonly { readonly topic: string; readonly partitions: readonly Buffer[] }[],
  aborted: readonly (readonly [bigint, bigint])[],
): Buffer {
  const { Encoder } = theirs;
  const answer = new Encoder().writeInt32(99);
  if (version >= 7) answer.writeInt16(0).writeInt32(0);
  const partitionOf = (records: Buffer, partition: number) => {
    const encoder = new Encoder()
      .writeInt32(partition)
      .writeInt16(0)
      .writeInt64(70)
      .writeInt64(60 + partition);
    if (version >= 5) encoder.writeInt64(3);
    encoder.writeArray(aborted.map(([id, first]) => new Encoder().writeInt64(id).writeInt64(first)));
    if (version >= 11) encoder.writeInt32(-1);
    return encoder.writeBytes(records);
  };
  return answer.writeArray(
    topics.map(({ topic, partitions }) =>
      new Encoder().writeString(topic).writeArray(partitions.map(partitionOf)),
    ),
  ).buffer;
}

/** As `answerOf` of version 11, in the first version that names topics by their ids. */
function answerById(
  topics: readonly { readonly topicId: string; readonly partitions: readonly Buffer[] }[],
  aborted: readonly (readonly [bigint, bigint])[],
  errorCode = 0,
): Buffer {
  const { Encoder } = theirs;
  // A tag that is not known here stands wherever one may.
  const tagged = (encoder: TheirEncoder) => {
    encoder.writeUVarInt(1).writeUVarInt(7).writeUVarInt(3).writeBufferInternal(Buffer.from('tag'));
    return encoder;
  };
  const partitionOf = (records: Buffer, partition: number) => {
    const encoder = new Encoder().writeInt32(partition).writeInt16(errorCode);
    encoder.writeInt64(70).writeInt64(60 + partition);
    encoder.writeInt64(3).writeUVarIntArray(
      aborted.map(([id, first]) => tagged(new Encoder().writeInt64(id).writeInt64(first))),
      'object',
    );
    return tagged(encoder.writeInt32(-1).writeUVarIntBytes(records));
  };
  const topicOf = ({ topicId, partitions }: (typeof topics)[number]) => {
    const encoder = new Encoder();
    encoder.writeBufferInternal(Buffer.from(topicId, 'base64url'));
    return tagged(encoder.writeUVarIntArray(partitions.map(partitionOf), 'object'));
  };
  const answer = tagged(new Encoder()) as TheirEncoder;
  answer.writeInt32(99).writeInt16(0).writeInt32(0).writeUVarIntArray(topics.map(topicOf), 'object');
  return tagged(answer).buffer;
}

// biome-ignore lint/suspicious/noExplicitAny: kafkajs publishes no types of it
type TheirEncoder = any;

/** As kafkajs decodes the same record. */
interface TheirRecord {
  readonly offset: string;
  readonly timestamp: string;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: Record<string, Buffer | Buffer[] | undefined>;
  readonly batchContext: { readonly producerId: string; readonly inTransaction: boolean };
}

const textOf = (value: Buffer | Buffer[] | undefined): string =>
  (Array.isArray(value) ? value.at(-1) : value)?.toString() ?? '';

it.each(versions)(
  'an answer of version %i is decoded as kafkajs decodes it, cut off anywhere',
  async (version) => {
    const { response } = theirs.fetch.protocol({ version })({ topics: [] });
    const partition = fc.tuple(fc.array(batch, { maxLength: 3 }), fc.nat(100));
    const topic = fc.record({ topic: text, partitions: fc.array(partition, { maxLength: 3 }) });
    const aborted = fc.array(fc.tuple(fc.bigInt(0n, 9n), fc.bigInt(0n, 2n ** 52n)), { maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(fc.array(topic, { maxLength: 3 }), aborted, async (topics, abortedTransactions) => {
        const given = await Promise.all(
          topics.map(async ({ topic: name, partitions }) => ({
            topic: name,
            partitions: await Promise.all(
              partitions.map(async ([batches, cut]) => {
                const whole = Buffer.concat(await Promise.all(batches.map(encodeBatch)));
                // kafkajs itself fails on fewer bytes than tell the format of a batch.
                return whole.subarray(0, whole.length - cut < 17 ? 0 : whole.length - cut);
              }),
            ),
          })),
        );
        const payload = answerOf(version, given, abortedTransactions);
        const [ours, expected] = [await decodeAnswer(payload, version), await response.decode(payload)];

        expect(ours.clientSideThrottleTime).toBe(expected.clientSideThrottleTime ?? 0);
        const found = ours.responses.map(({ topicName, partitions }) => ({
          topicName,
          partitions: partitions.map(({ batches, lastStableOffset, ...one }) => ({
            partition: one.partition,
            errorCode: one.errorCode,
            lastStableOffset: String(lastStableOffset),
            aborted: one.abortedTransactions.map(({ producerId, firstOffset }) =>
              [producerId, firstOffset].map(String),
            ),
            records: batches.flatMap((each) =>
              [...recordsOf(topicName, one.partition, each)].map((decoded) => ({
                ...decoded,
                producerId: String(each.producerId),
                inTransaction: each.inTransaction,
              })),
            ),
          })),
        }));
        expect(found).toEqual(
          (expected as TheirAnswer).responses.map(({ topicName, partitions }) => ({
            topicName,
            partitions: partitions.map(({ messages, ...one }) => ({
              partition: one.partition,
              errorCode: one.errorCode,
              lastStableOffset: one.lastStableOffset,
              aborted: one.abortedTransactions.map(({ producerId, firstOffset }) => [
                producerId,
                firstOffset,
              ]),
              records: messages.map(({ offset, timestamp, key, value, headers, batchContext }) => ({
                topic: topicName,
                partition: one.partition,
                logOffset: Number(offset),
                timestamp: Number(timestamp),
                key: key?.toString() ?? '',
                value,
                headers: Object.fromEntries(
                  Object.entries(headers).map(([name, one]) => [name, textOf(one)]),
                ),
                producerId: batchContext.producerId,
                inTransaction: batchContext.inTransaction,
              })),
            })),
          })),
        );
      }),
      { numRuns: runs(6) },
    );
  },
);

interface TheirAnswer {
  readonly responses: readonly {
    readonly topicName: string;
    readonly partitions: readonly {
      readonly partition: number;
      readonly errorCode: number;
      readonly lastStableOffset: string;
      readonly abortedTransactions: readonly { readonly producerId: string; readonly firstOffset: string }[];
      readonly messages: readonly TheirRecord[];
    }[];
  }[];
}

const sample = {
  firstOffset: 7n,
  firstTimestamp: 1_000,
  producerId: 1n,
  transactional: true,
  records: [1, 2].map((n) => ({
    key: Buffer.from(`k${n}`),
    value: Buffer.alloc(50, 'v'),
    headers: { op: 'c' },
  })),
};

describe('a batch', () => {
  it('tells its range, and that it is empty, where compaction took its records', async () => {
    const empty = await encodeBatch({ ...sample, records: [], compression: CompressionTypes.None });
    empty.writeInt32BE(5, 23);
    const [found] = await readBatches(rechecked(empty), 'ipos/0');
    expect(found).toMatchObject({ baseOffset: 7n, lastOffset: 12n, count: 0 });
    expect([...recordsOf('ipos', 0, found!)]).toStrictEqual([]);
  });

  it('that came only in part is not a batch, however small the part is', async () => {
    const encoded = await encodeBatch({ ...sample, compression: CompressionTypes.None });
    for (let length = 0; length < encoded.length; length++) {
      expect(await readBatches(encoded.subarray(0, length), 'ipos/0')).toStrictEqual([]);
    }
    expect(await readBatches(encoded, 'ipos/0')).toHaveLength(1);
  });

  it("of a topic with the brokers' time has that time for all its records", async () => {
    const encoded = await encodeBatch({ ...sample, compression: CompressionTypes.None });
    encoded.writeInt16BE(encoded.readInt16BE(21) | 8, 21);
    encoded.writeBigInt64BE(2_000n, 35);
    const [found] = await readBatches(rechecked(encoded), 'ipos/0');
    expect([...recordsOf('ipos', 0, found!)].map(({ timestamp }) => timestamp)).toEqual([2_000, 2_000]);
  });

  it('keeps texts apart of which one has as many units as the other has bytes', async () => {
    const texts = ['Ã©', 'é', 'Ã©'];
    const records = texts.map((header) => ({ key: Buffer.from('k'), value: null, headers: { header } }));
    const encoded = await encodeBatch({ ...sample, records, compression: CompressionTypes.None });
    const [found] = await readBatches(encoded, 'ipos/0');
    expect([...recordsOf('ipos', 0, found!)].map(({ headers }) => headers.header)).toEqual(texts);
  });

  it('that is a marker is not a record of a transaction', async () => {
    const encoded = await encodeBatch({ ...sample, compression: CompressionTypes.None });
    encoded.writeInt16BE(encoded.readInt16BE(21) | 32, 21);
    expect(await readBatches(rechecked(encoded), 'ipos/0')).toMatchObject([{ isControl: true }]);
  });

  it.each([CompressionTypes.None, CompressionTypes.GZIP, CompressionTypes.LZ4])(
    'with any byte behind its format changed is refused by its place, codec %i',
    async (compression) => {
      const encoded = await encodeBatch({ ...sample, compression });
      for (let at = 17; at < encoded.length; at++) {
        const damaged = Buffer.from(encoded);
        damaged[at]! ^= 0x10;
        await expect(readBatches(damaged, 'ipos/3')).rejects.toMatchObject({
          code: 'LOG_UNREADABLE',
          message: expect.stringMatching(
            /^the batch of ipos\/3 at offset 7 is damaged: its checksum is [0-9a-f]{8},/,
          ),
        });
      }
    },
  );

  it.each([
    ['that no codec wrote so', 1, /cannot be decompressed: incorrect header check/],
    ['of a codec that Kafka does not have', 6, /cannot be decompressed: there is no codec 6/],
  ])('%s is refused by its place', async (_, codec, message) => {
    const encoded = await encodeBatch({ ...sample, compression: CompressionTypes.None });
    encoded.writeInt16BE(codec, 21);
    await expect(readBatches(rechecked(encoded), 'ipos/3')).rejects.toMatchObject({
      code: 'LOG_UNREADABLE',
      message: expect.stringMatching(message),
    });
  });

  it.each([0, 1])('of format %i is refused, with what to do', async (format) => {
    const encoded = await encodeBatch({ ...sample, compression: CompressionTypes.None });
    encoded[16] = format;
    await expect(readBatches(encoded, 'ipos/3')).rejects.toMatchObject({
      code: 'LOG_UNREADABLE',
      message: expect.stringContaining(`the batch of ipos/3 at offset 7 has format ${format}`),
    });
  });

  it.each([-12, -1, 0, 48])(
    'that claims a length of %i is refused, and not read for ever',
    async (length) => {
      const encoded = await encodeBatch({ ...sample, compression: CompressionTypes.None });
      encoded.writeInt32BE(length, 8);
      await expect(readBatches(encoded, 'ipos/3')).rejects.toMatchObject({
        code: 'LOG_UNREADABLE',
        message: 'the batch of ipos/3 at offset 7 has no length',
      });
    },
  );

  it.each([
    ['damaged', 30],
    ['of another format', 16],
    ['without a length', 8],
  ])('that is %s does not keep those before it back', async (_, at) => {
    const encoded = await encodeBatch({ ...sample, compression: CompressionTypes.GZIP });
    const damaged = Buffer.from(encoded);
    damaged[at]! ^= 0x80;
    const found = await readBatches(Buffer.concat([encoded, encoded, damaged, encoded]), 'ipos/3');
    expect(found).toHaveLength(2);
    await expect(readBatches(Buffer.concat([damaged, encoded]), 'ipos/3')).rejects.toMatchObject({
      code: 'LOG_UNREADABLE',
    });
  });

  it('of arbitrary bytes ends, in records or in an error that names it', () => {
    const { bytes: whole } = fetchedBatch(0, { keys: ['a', 'b', 'c'] });
    const damage = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 });
    const mangled = fc.oneof(
      damage.map((changes) => {
        const damaged = Buffer.from(whole);
        for (const [at, byte] of changes) damaged[at] = byte;
        return damaged;
      }),
      fc.uint8Array({ maxLength: 60 }).map((given) => Buffer.from(given)),
      fc.nat(whole.length).map((length) => whole.subarray(0, length)),
    );
    fc.assert(
      fc.property(mangled, (given) => {
        const records: LogRecord[] = [];
        try {
          records.push(...recordsOf('ipos', 3, { ...fetchedBatch(5), count: 3, bytes: given }));
        } catch (error) {
          expect(error).toBeInstanceOf(HighwaterError);
          expect((error as Error).message).toMatch(
            /^record [123] of 3 in the batch of ipos\/3 at offset 5 cannot be/,
          );
          return;
        }
        expect(records).toHaveLength(3);
      }),
      { numRuns: runs(300) },
    );
  });
});

/** With the checksum that belongs to it. */
function rechecked(encoded: Buffer): Buffer {
  const crc32c: (bytes: Buffer) => number = require('kafkajs/src/protocol/recordBatch/crc32C');
  encoded.writeUInt32BE(crc32c(encoded.subarray(21)) >>> 0, 17);
  return encoded;
}

const topicIdOf = (i: number) => Buffer.alloc(16, i + 1).toString('base64url');

it('an answer by ids says the same as one by names', async () => {
  const partition = fc.array(batch, { maxLength: 3 });
  const topic = fc.record({ topic: text, partitions: fc.array(partition, { maxLength: 3 }) });
  const aborted = fc.array(fc.tuple(fc.bigInt(0n, 9n), fc.bigInt(0n, 2n ** 52n)), { maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(fc.array(topic, { maxLength: 3 }), aborted, async (topics, abortedTransactions) => {
      const given = await Promise.all(
        topics.map(async ({ topic: name, partitions }, i) => ({
          topic: name,
          topicId: topicIdOf(i),
          partitions: await Promise.all(
            partitions.map(async (batches) => Buffer.concat(await Promise.all(batches.map(encodeBatch)))),
          ),
        })),
      );
      const asked = given.map(({ topic: name, topicId }) => ({ topic: name, topicId, partitions: [] }));
      const byId = await decodeAnswer(answerById(given, abortedTransactions), 13, { topics: asked });
      const byName = await decodeAnswer(answerOf(11, given, abortedTransactions), 11);
      expect(byId).toEqual(byName);
    }),
    { numRuns: 100 },
  );
});

it.each([100, 103])(
  'error %i, of an id that is not there, is that of a topic that is not there',
  async (code) => {
    const payload = answerById([{ topicId: topicIdOf(0), partitions: [Buffer.alloc(0)] }], [], code);
    const topics = [{ topic: 't', topicId: topicIdOf(0), partitions: [] }];
    const answer = await decodeAnswer(payload, 13, { topics });
    expect(answer.responses).toMatchObject([{ topicName: 't', partitions: [{ errorCode: 3 }] }]);
  },
);
