import { CompressionTypes } from 'kafkajs';
import { HighwaterError } from '../../../../src/errors';
import type { PartitionSends } from '../../../../src/log/kafka/producer/partitioned-records';
import type { TransactionalProducer } from '../../../../src/log/kafka/producer/producer';
import { type WrittenOffsets, writeTransaction } from '../../../../src/log/kafka/producer/transaction';
import type { Appended, PartitionRecords } from '../../../../src/log/kafka/protocol/produce-request';

interface Answers {
  /** The brokers' answer for a partition's records. By default they take everything. */
  readonly send?: (sent: PartitionRecords) => Appended;
  readonly begin?: () => Promise<void>;
  readonly commit?: () => Promise<void>;
}

function producer({ send = accept, begin = async () => {}, commit = async () => {} }: Answers = {}) {
  const sent: PartitionRecords[] = [];
  const calls: string[] = [];
  const names = (places: readonly { topic: string; partition: number }[]) =>
    places.map(({ topic, partition }) => `${topic}/${partition}`).join(' ');
  const port: TransactionalProducer = {
    async begin(places) {
      calls.push(`begin ${names(places)}`);
      await begin();
    },
    async send(sends) {
      calls.push(`send ${names(sends)}`);
      sent.push(...sends);
      return sends.map(send);
    },
    beganAt: async () => null,
    async commit() {
      calls.push('commit');
      await commit();
    },
    async abort() {
      calls.push('abort');
    },
    async disconnect() {
      calls.push('disconnect');
    },
  };
  return { port, sent, calls };
}

/** As a broker that has 100 records in each partition. */
function accept(sent: PartitionRecords): Appended {
  return { ...sent, baseOffset: 100n };
}

const records = (count: number) => ({
  count,
  bytes: Buffer.alloc(count),
  firstTimestamp: 0,
  maxTimestamp: 0,
});

const sends = (topic: string, partition: number, ...counts: number[]): PartitionSends => ({
  topic,
  partition,
  sends: counts.map(records),
});

/** The topics whose offsets are of interest. */
const noting = (...names: string[]): WrittenOffsets => new Map(names.map((name) => [name, new Map()]));

const write = (
  port: ReturnType<typeof producer>['port'],
  partitions: readonly PartitionSends[],
  written: WrittenOffsets = new Map(),
) => writeTransaction(port, partitions, CompressionTypes.None, written);

it('names all partitions, sends each its messages, and then commits', async () => {
  const { port, sent, calls } = producer();

  await write(port, [sends('ipos', 2, 2), sends('ipos.current', 0, 1)]);

  const both = 'ipos/2 ipos.current/0';
  expect(calls).toEqual([`begin ${both}`, `send ${both}`, 'commit']);
  expect(sent.map((one) => one.records.count)).toEqual([2, 1]);
});

it('sends what does not fit into one send one after the other', async () => {
  const { port, calls } = producer();

  await write(port, [sends('ipos', 2, 5, 5, 1), sends('ipos.current', 0, 5), sends('ipos', 0, 5, 2)]);

  expect(calls.slice(1)).toEqual([
    'send ipos/2 ipos.current/0 ipos/0',
    'send ipos/2 ipos/0',
    'send ipos/2',
    'commit',
  ]);
});

it('notes the offset of the last record of each partition, that of its last send', async () => {
  let next = 100;
  const { port } = producer({
    send: (one) => {
      const baseOffset = BigInt(next);
      next += one.records.count;
      return { ...one, baseOffset };
    },
  });
  const written = noting('ipos', 'ipos.current');
  written.get('ipos')!.set(1, 7n);

  await write(port, [sends('ipos', 2, 1_000, 1_000, 500)], written);

  expect(written.get('ipos')).toEqual(
    new Map([
      [1, 7n],
      [2, 2_599n],
    ]),
  );
});

it('is aborted and not committed when it cannot begin, or a send fails, and throws what the producer threw', async () => {
  const failure = new Error('the broker is gone');
  const failsFrom = (first: number, count = 0) => ({
    send(one: Parameters<typeof accept>[0]) {
      if (++count >= first) throw failure;
      return { ...one, baseOffset: BigInt(100 * count) };
    },
  });
  // The first of all sends, and the last of several to one partition.
  for (const answers of [{ begin: () => Promise.reject(failure) }, failsFrom(1), failsFrom(4)]) {
    const { port, calls } = producer(answers);

    await expect(write(port, [sends('ipos.current', 0, 1), sends('ipos', 1, 1, 1, 1)])).rejects.toBe(failure);
    await new Promise(setImmediate);
    expect(calls.slice(-2)).toEqual(['abort', 'disconnect']);
    expect(calls).not.toContain('commit');
  }
});

it('is aborted when something speaks against it at the end', async () => {
  const failure = new HighwaterError('LOG_FENCED', 'somebody else');
  const { port, calls } = producer();
  const ready = async () => {
    expect(calls).toEqual(['begin ipos/1', 'send ipos/1']);
    throw failure;
  };

  const writing = writeTransaction(port, [sends('ipos', 1, 1)], CompressionTypes.None, new Map(), ready);
  await expect(writing).rejects.toBe(failure);
  await new Promise(setImmediate);
  expect(calls.slice(2)).toEqual(['abort', 'disconnect']);
});

it('has noted where the records went when the commit fails: it may have succeeded all the same', async () => {
  const failure = new Error('the answer was lost');
  const { port } = producer({ commit: () => Promise.reject(failure) });
  const written = noting('ipos', 'ipos.current');

  await expect(write(port, [sends('ipos', 1, 3), sends('ipos.current', 0, 1)], written)).rejects.toBe(
    failure,
  );
  expect(written).toEqual(
    new Map([
      ['ipos', new Map([[1, 102n]])],
      ['ipos.current', new Map([[0, 100n]])],
    ]),
  );
});

it.each([100n, 99n, 0n])(
  'is not committed when a partition that had offset 100 already takes records at %s: it is another log',
  async (baseOffset) => {
    const { port, calls } = producer({
      send: (one) => (one.topic === 'ipos.current' ? { ...one, baseOffset } : accept(one)),
    });
    const written = noting('ipos.current');
    written.get('ipos.current')!.set(2, 100n);

    await expect(
      write(port, [sends('ipos', 1, 3), sends('ipos.current', 2, 1)], written),
    ).rejects.toMatchObject({
      code: 'LOG_TOPIC_LOST',
      message: expect.stringMatching(
        `Partition 2 of topic ipos.current stands at offset ${baseOffset}, .* up to offset 100: `,
      ),
    });
    expect(calls).not.toContain('commit');
    expect(written.get('ipos.current')!.get(2)).toBe(100n);
  },
);

it('is committed when a topic whose offsets are of no interest begins anew', async () => {
  let baseOffset = 100n;
  const { port, calls } = producer({ send: (one) => ({ ...one, baseOffset }) });
  const written = noting('ipos.current');
  await write(port, [sends('ipos', 1, 3)], written);
  baseOffset = 0n;

  await write(port, [sends('ipos', 1, 3)], written);

  expect(calls.filter((call) => call === 'commit')).toHaveLength(2);
});
