import { CompressionTypes, KafkaJSProtocolError, type Message, type RecordMetadata } from 'kafkajs';
import type { PartitionSends } from '../../../../src/log/kafka/messages';
import { type WrittenOffsets, writeTransaction } from '../../../../src/log/kafka/transaction';

type Send = Parameters<typeof accept>[0];

/** Part of what kafkajs says of a partition: an older broker leaves out some of it. */
type Answer = { [Name in keyof RecordMetadata]?: RecordMetadata[Name] | undefined };

interface Answers {
  /** What the broker says to a send; by default it takes everything. */
  readonly send?: (sent: Send) => Answer[] | Promise<never>;
  readonly commit?: () => Promise<void>;
}

/** The producer of kafkajs, as far as a transaction needs it. */
function producer({ send = accept, commit = async () => undefined }: Answers = {}) {
  const sent: Send[] = [];
  const calls: string[] = [];
  const transaction = {
    async send(one: Send) {
      sent.push(one);
      calls.push(`send ${one.topic}/${one.messages[0]!.partition}`);
      return send(one);
    },
    async commit() {
      calls.push('commit');
      await commit();
    },
    async abort() {
      calls.push('abort');
    },
  };
  const port = {
    async transaction() {
      calls.push('begin');
      return transaction as never;
    },
    async disconnect() {
      calls.push('disconnect');
    },
  };
  return { port, sent, calls };
}

/** As a broker that has 100 records in each partition. */
function accept({ topic, messages }: { topic: string; messages: Message[] }): Answer[] {
  return [{ topicName: topic, partition: messages[0]!.partition, errorCode: 0, baseOffset: '100' }];
}

const messages = (count: number, partition: number): Message[] =>
  Array.from({ length: count }, (_, i) => ({ key: `key ${i}`, value: 'x', partition }));

const sends = (topic: string, partition: number, ...counts: number[]): PartitionSends => ({
  ...{ topic, partition },
  sends: counts.map((count) => messages(count, partition)),
});

/** The topics whose offsets are of interest. */
const noting = (...names: string[]): WrittenOffsets => new Map(names.map((name) => [name, new Map()]));

const write = (
  port: ReturnType<typeof producer>['port'],
  partitions: readonly PartitionSends[],
  written: WrittenOffsets = new Map(),
) => writeTransaction(port, partitions, CompressionTypes.None, written);

it('sends each partition its messages, in all replicas, and then commits', async () => {
  const { port, sent, calls } = producer();

  await write(port, [sends('ipos', 2, 2), sends('ipos.current', 0, 1)]);

  expect(calls).toEqual(['begin', 'send ipos/2', 'send ipos.current/0', 'commit']);
  expect(sent.map(({ messages }) => messages.length)).toEqual([2, 1]);
  expect(sent.every((one) => (one as unknown as { acks: number }).acks === -1)).toBe(true);
});

it('notes the offset of the last record of each partition, that of its last send', async () => {
  let next = 100;
  const { port } = producer({
    send: (one) => {
      const baseOffset = String(next);
      next += one.messages.length;
      return [{ ...accept(one)[0]!, baseOffset }];
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

it('reads an offset beyond what a number holds', async () => {
  const { port } = producer({ send: (one) => [{ ...accept(one)[0]!, baseOffset: '9007199254740993' }] });
  const written = noting('ipos', 'ipos.current');

  await write(port, [sends('ipos', 0, 1)], written);

  expect(written.get('ipos')!.get(0)).toBe(9_007_199_254_740_993n);
});

const taken = { topicName: 'ipos', partition: 1, errorCode: 0, baseOffset: '100' };

it.each<[string, Answer[], string]>([
  ['names another partition', [{ ...taken, partition: 2 }], 'ipos/2 with code 0'],
  ['names another topic', [{ ...taken, topicName: 'analysts' }], 'analysts/1 with code 0'],
  ['is empty', [], 'the answer was empty'],
  ['names the partition twice', [taken, taken], 'ipos/1 with code 0, ipos/1 with code 0'],
  ['names another partition too', [taken, { ...taken, partition: 2 }], 'ipos/2 with code 0'],
  ['has an error code', [{ ...taken, errorCode: 45 }], 'ipos/1 with code 45'],
  ['has an error code of the broker', [{ ...taken, errorCode: -1 }], 'ipos/1 with code -1'],
  ['has no offset', [{ ...taken, baseOffset: undefined }], 'ipos/1 with code 0'],
  ['has an offset below zero', [{ ...taken, baseOffset: '-1' }], 'ipos/1 with code 0'],
])('is not committed when the answer to a send %s', async (_name, answer, text) => {
  const { port, calls } = producer({ send: (one) => (one.topic === 'ipos' ? answer : accept(one)) });
  const written = noting('ipos', 'ipos.current');

  const writing = write(port, [sends('ipos.current', 0, 1), sends('ipos', 1, 3, 2)], written);

  await expect(writing).rejects.toMatchObject({
    code: 'LOG_FAILED',
    message: expect.stringMatching(/^3 records were sent to ipos\/1, and the answer was /),
  });
  await expect(writing).rejects.toThrow(text);
  expect(calls).not.toContain('commit');
  // Nothing more goes to that partition either, and nothing is believed of it.
  expect(calls.filter((call) => call === 'send ipos/1')).toHaveLength(1);
  expect(written.get('ipos')!.size).toBe(0);
});

it('is not committed when only the last of several sends to a partition is not taken', async () => {
  let count = 0;
  const { port, calls } = producer({ send: (one) => (++count < 3 ? accept(one) : []) });

  await expect(write(port, [sends('ipos', 1, 1, 1, 1)])).rejects.toMatchObject({ code: 'LOG_FAILED' });
  expect(calls).not.toContain('commit');
});

it('is not committed when a send fails, and throws what the producer threw', async () => {
  const failure = new Error('the broker is gone');
  const { port, calls } = producer({
    send: (one) => (one.topic === 'ipos' ? Promise.reject(failure) : accept(one)),
  });

  await expect(write(port, [sends('ipos.current', 0, 1), sends('ipos', 1, 1)])).rejects.toBe(failure);
  expect(calls).not.toContain('commit');
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

it('notes nothing of topics that it was not told to', async () => {
  const written = noting('ipos.current');

  await write(producer().port, [sends('ipos', 1, 3), sends('ipos.current', 0, 1)], written);

  expect([...written.keys()]).toEqual(['ipos.current']);
});

it.each([['100'], ['99'], ['0']])(
  'is not committed when a partition that had offset 100 already takes records at %s: it is another log',
  async (baseOffset) => {
    const { port, calls } = producer({
      send: (one) => (one.topic === 'ipos.current' ? [{ ...accept(one)[0]!, baseOffset }] : accept(one)),
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
  let baseOffset = '100';
  const { port, calls } = producer({ send: (one) => [{ ...accept(one)[0]!, baseOffset }] });
  const written = noting('ipos.current');
  await write(port, [sends('ipos', 1, 3)], written);
  baseOffset = '0';

  await write(port, [sends('ipos', 1, 3)], written);

  expect(calls.filter((call) => call === 'commit')).toHaveLength(2);
});

it('names the partition that is not there, and keeps what kafkajs said', async () => {
  const code = 3;
  const [type, message] = ['UNKNOWN_TOPIC_OR_PARTITION', 'This server does not host this topic-partition'];
  const answer = new KafkaJSProtocolError({ ...{ type, code, retriable: true }, message } as never);
  // As it comes after the last of many tries.
  const failure = new Error('too many retries', { cause: answer });
  const { port, calls } = producer({
    send: (one) => (one.topic === 'ipos' ? Promise.reject(failure) : accept(one)),
  });

  await expect(write(port, [sends('ipos.current', 0, 1), sends('ipos', 1, 1)])).rejects.toMatchObject({
    ...{ code: 'LOG_TOPIC_LOST', message: 'Partition 1 of topic ipos is not there any more', cause: failure },
  });
  expect(calls).not.toContain('commit');
});
