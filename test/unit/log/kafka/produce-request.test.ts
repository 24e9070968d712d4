import fc from 'fast-check';
import { CompressionTypes } from 'kafkajs';
import type { ProducerRecord } from '../../../../src/log/commit-log';
import { encodePieces } from '../../../../src/log/kafka/protocol/produce-request';
import { type EncodedRecords, RecordsEncoder } from '../../../../src/log/kafka/protocol/record-format';
import { anyCharacter } from '../../../support/any-character';
import { registerCodecs } from '../../../support/kafkajs-codecs';
import { runs } from '../../../support/runs';

interface KafkajsRequest {
  readonly apiKey: number;
  readonly apiVersion: number;
  encode(): Promise<{ readonly buffer: Buffer }>;
}
const installed: {
  readonly versions: readonly string[];
  protocol(of: { readonly version: number | string }): (of: object) => { readonly request: KafkajsRequest };
} = require('kafkajs/src/protocol/requests/produce');
/** Those that know transactions. */
const versions = installed.versions.filter((version) => Number(version) >= 3);
const theirs = (of: object, version: number | string = 3) => installed.protocol({ version })(of).request;

const frame: (of: object) => Promise<{ buffer: Buffer }> = require('kafkajs/src/protocol/request');

/** Timestamps as kafkajs compares them: as texts, so all of one length. */
const timestamp = fc.integer({ min: 1_000_000_000_000, max: 9_999_999_999_999 });
const nearly = fc.integer({ min: 1_760_000_000_000, max: 1_760_000_000_200 });
// Bytes, and texts that are none in Unicode: half a pair of surrogates.
const text = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ unit: anyCharacter }),
  // Texts of at most two bytes per character, such as names of people.
  fc.string({ unit: fc.constantFrom('a', 'é', 'ß', '\u07ff') }),
  fc.constantFrom('\ud800', 'x'.repeat(5_000)),
);
const size = fc.oneof(
  { weight: 12, arbitrary: fc.nat(80) },
  { weight: 7, arbitrary: fc.constantFrom(8_180, 20_000) },
  { weight: 1, arbitrary: fc.constant(1_100_000) },
);
const record: fc.Arbitrary<ProducerRecord> = fc.record({
  topic: fc.constant('ipos'),
  key: text,
  value: fc.option(fc.tuple(size, fc.nat(255)).map(([bytes, fill]) => Buffer.alloc(bytes, fill))),
  headers: fc.dictionary(text, text, { maxKeys: 12 }).map((given) => ({ ...given })),
  timestamp: fc.oneof(nearly, timestamp),
});

/** All in one send, which none of them is older than. */
function whole(records: readonly ProducerRecord[]): EncodedRecords {
  const send = new RecordsEncoder(Number.POSITIVE_INFINITY);
  for (const record of inOrder(records)) expect(send.add(record)).toBe(true);
  return send.finish();
}

/** As kafkajs takes them. */
function messagesOf(records: readonly ProducerRecord[]) {
  return inOrder(records).map(({ key, value, headers, timestamp }) => ({
    key,
    value,
    headers,
    timestamp: String(timestamp),
  }));
}

/** The oldest one first. */
function inOrder(records: readonly ProducerRecord[]): ProducerRecord[] {
  const times = records.map(({ timestamp }) => timestamp);
  const oldest = times.indexOf(Math.min(...times));
  return [records[oldest]!, ...records.filter((_, i) => i !== oldest)];
}

const asked = {
  acks: -1 as const,
  timeout: 30_000,
  transactionalId: 'id',
  producerId: '1',
  producerEpoch: 2,
  compression: CompressionTypes.None,
};

async function encodeProduce(...given: Parameters<typeof encodePieces>): Promise<Buffer> {
  return Buffer.concat(await encodePieces(...given));
}

function ours(records: EncodedRecords, compression = CompressionTypes.None): Promise<Buffer> {
  const partitions = [{ partition: 1, firstSequence: 3, records }];
  return encodeProduce({ ...asked, compression, topicData: [{ topic: 'ipos', partitions }] });
}

async function kafkajs(
  records: readonly ProducerRecord[],
  compression = CompressionTypes.None,
): Promise<Buffer> {
  const messages = messagesOf(records);
  const partitions = [{ partition: 1, firstSequence: 3, messages }];
  const request = theirs({ ...asked, compression, topicData: [{ topic: 'ipos', partitions }] });
  return (await request.encode()).buffer;
}

it('a request of each version is byte for byte the one that kafkajs makes of the same messages', async () => {
  const partition = fc.record({
    partition: fc.nat(1_000),
    firstSequence: fc.nat(2 ** 31 - 1),
    records: fc.array(record, { minLength: 1, maxLength: 6 }),
  });
  const request = fc.record({
    transactionalId: text.filter((id) => id !== ''),
    producerId: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }).map(String),
    producerEpoch: fc.nat(2 ** 15 - 1),
    topicData: fc.array(
      fc.record({ topic: text, partitions: fc.array(partition, { minLength: 1, maxLength: 3 }) }),
      { minLength: 1, maxLength: 3 },
    ),
  });
  await fc.assert(
    fc.asyncProperty(request, async ({ topicData, ...rest }) => {
      const of = <T>(shape: (records: readonly ProducerRecord[]) => T) =>
        topicData.map(({ topic, partitions }) => ({
          topic,
          partitions: partitions.map(({ records, ...place }) => ({ ...place, ...shape(records) })),
        }));
      const own = of((records) => ({ records: whole(records) }));
      const its = of((records) => ({ messages: messagesOf(records) }));
      const encoded = await encodeProduce({ ...asked, ...rest, topicData: own });
      const header = { correlationId: rest.producerEpoch, clientId: rest.transactionalId };
      for (const version of versions) {
        const call = theirs({ ...asked, ...rest, topicData: its }, version);
        expect(encoded.equals((await call.encode()).buffer)).toBe(true);
        const framed = await encodeProduce({ ...asked, ...rest, topicData: own }, { ...call, ...header });
        expect(framed.equals((await frame({ request: call, ...header })).buffer)).toBe(true);
      }
    }),
    { numRuns: runs(15) },
  );
});

it.each(['GZIP', 'LZ4', 'ZSTD'] as const)('is compressed as kafkajs does it: %s', async (codec) => {
  registerCodecs();
  const records = fc.sample(record, { numRuns: 50, seed: 7 });
  const encoded = await ours(whole(records), CompressionTypes[codec]);
  expect(encoded.equals(await kafkajs(records, CompressionTypes[codec]))).toBe(true);
  expect(encoded.length).toBeLessThan((await ours(whole(records))).length);
});

it('the same records are encoded again to the same bytes: a send is tried again with them', async () => {
  const records = whole(fc.sample(record, { numRuns: 10, seed: 3 }));
  const first = await ours(records);
  // Other sends are encoded in between.
  whole(fc.sample(record, { numRuns: 30, seed: 4 }));
  expect((await ours(records)).equals(first)).toBe(true);
});

it.each(['None', 'LZ4'] as const)(
  'what is under way stays as it is when the memory of its records goes to others: %s',
  async (codec) => {
    const send = new RecordsEncoder(Number.POSITIVE_INFINITY);
    for (const one of inOrder(fc.sample(record, { numRuns: 10, seed: 3 }))) send.add(one);
    const partitions = [{ partition: 1, firstSequence: 3, records: send.finish() }];
    const request = {
      ...asked,
      compression: CompressionTypes[codec],
      topicData: [{ topic: 'ipos', partitions }],
    };
    const pieces = await encodePieces(request);
    const before = Buffer.concat(pieces);
    expect(before.equals(await encodeProduce(request))).toBe(true);
    send.release();
    for (let i = 0; i < 5; i++) whole(fc.sample(record, { numRuns: 30, seed: i }));
    expect(Buffer.concat(pieces).equals(before)).toBe(true);
  },
);

it('are the same when they are asked for again, and nothing can be added behind them', () => {
  const send = new RecordsEncoder(Number.POSITIVE_INFINITY);
  const [one, other] = fc.sample(record, { numRuns: 2, seed: 5 });
  send.add(one!);
  const records = send.finish();
  expect(send.finish()).toBe(records);
  expect(() => send.add(other!)).toThrow(RangeError);
});

it('sends that grow at the same time keep to themselves', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(2), record), { minLength: 1, maxLength: 30 }),
      async (given) => {
        const sends = [0, 1, 2].map(() => new RecordsEncoder(Number.POSITIVE_INFINITY));
        const own: ProducerRecord[][] = [[], [], []];
        for (const [which, one] of given) if (sends[which]!.add(one)) own[which]!.push(one);
        for (const [which, send] of sends.entries()) {
          if (own[which]!.length === 0) continue;
          expect((await ours(send.finish())).equals(await kafkajs(own[which]!))).toBe(true);
        }
      },
    ),
    { numRuns: runs(15) },
  );
});

it('a send takes no record that is older than its first one, and no more bytes than it may have', () => {
  const send = new RecordsEncoder(10_000);
  const of = (ms: number, bytes: number): ProducerRecord => ({
    topic: 'ipos',
    key: 'k',
    value: Buffer.alloc(bytes),
    headers: {},
    timestamp: 1_760_000_000_000 + ms,
  });
  expect([of(5, 20_000), of(6, 1)].map((one) => send.add(one))).toEqual([true, false]);
  const next = new RecordsEncoder(10_000);
  expect([of(5, 4_000), of(4, 1), of(5, 4_000), of(9, 4_000), of(5, 10)].map((one) => next.add(one))).toEqual(
    [true, false, true, false, true],
  );
  expect(next.finish().count).toBe(3);
});
