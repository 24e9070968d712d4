import { CompressionTypes, KafkaJSConnectionError, KafkaJSProtocolError } from 'kafkajs';
import type { Broker, Cluster, ProduceAnswer } from '../../../../src/log/kafka/connection/cluster';
import { connectProducer } from '../../../../src/log/kafka/producer/producer';
import type { PartitionRecords, ProduceRequest } from '../../../../src/log/kafka/protocol/produce-request';

type Produced = ProduceAnswer['topics'];

/** kafkajs inside: three brokers, of which any may refuse anything, once for each error that it is given. */
function brokers(leaders: Record<string, string> = {}) {
  const calls: string[] = [];
  const produced: { node: string; request: ProduceRequest }[] = [];
  const refusals: Record<string, unknown[]> = {};
  const at = {
    leaders: { 'ipos/0': '1', 'ipos/1': '2', 'ipos.current/0': '3', ...leaders } as Record<string, string>,
    coordinator: '1',
    isAway: new Set<string>(),
    /** A broker's answer to a produce request. By default it took everything at offset 100. */
    answer: taken as (request: ProduceRequest, node: string) => Produced | Promise<Produced>,
    heldBackMs: 0,
  };

  function called(call: string): void {
    calls.push(call);
    const refusal = refusals[call]?.shift();
    if (refusal !== undefined) throw refusal;
  }

  /** Where one has to log in first: then kafkajs itself sends. */
  const connection = (nodeId: string) => ({
    sasl: {},
    isAuthenticated: () => false,
    async send({ request }: { readonly request: ProduceRequest }) {
      produced.push({ node: nodeId, request });
      called(`produce ${nodeId}`);
      return { topics: await at.answer(request, nodeId), clientSideThrottleTime: at.heldBackMs };
    },
  });
  const broker = (nodeId: string) => ({
    nodeId,
    async initProducerId() {
      called(`init ${nodeId}`);
      return { producerId: '7', producerEpoch: 3 };
    },
    async addPartitionsToTxn({ topics }: Parameters<Broker['addPartitionsToTxn']>[0]) {
      called(`add ${topics.map(({ topic, partitions }) => `${topic}/${partitions.join('+')}`).join(' ')}`);
    },
    async endTxn({ transactionResult }: Parameters<Broker['endTxn']>[0]) {
      called(`${transactionResult ? 'commit' : 'abort'} ${nodeId}`);
    },
    lookupRequest: () => (request: ProduceRequest) => ({ request, response: {} }),
    async disconnect() {},
    connectionPool: { getConnection: async () => connection(nodeId) },
  });

  const cluster = {
    async connect() {},
    async disconnect() {
      calls.push('disconnect');
    },
    async refreshMetadata() {
      calls.push('refresh');
    },
    async addMultipleTargetTopics(topics: readonly string[]) {
      called(`topics ${topics.join(' ')}`);
    },
    findLeaderForPartitions(topic: string, [partition]: readonly number[]) {
      const leader = at.leaders[`${topic}/${partition}`];
      return leader === undefined ? {} : { [leader]: [partition] };
    },
    async findBroker({ nodeId }: { nodeId: string }) {
      if (at.isAway.has(nodeId)) throw new KafkaJSConnectionError('Connection error: connect ECONNREFUSED');
      return broker(nodeId);
    },
    async findGroupCoordinator() {
      called('find');
      return broker(at.coordinator);
    },
  } as unknown as Cluster;
  const connect = (signal = new AbortController().signal, patienceMs = 2_000) =>
    connectProducer(cluster, 'id', ['ipos', 'ipos.current'], signal, { patienceMs });
  const refuse = (call: string, ...errors: unknown[]) => {
    refusals[call] = errors;
  };
  return { at, calls, produced, connect, refuse };
}

function taken({ topicData }: ProduceRequest): Produced {
  return topicData.map(({ topic, partitions }) => ({
    topicName: topic,
    partitions: partitions.map(({ partition }) => ({ partition, errorCode: 0, baseOffset: '100' })),
  }));
}

function refusal(type: string, retriable: boolean): Error {
  return new KafkaJSProtocolError({ type, code: 1, retriable, message: type } as never);
}

const to = (topic: string, partition: number, count = 1): PartitionRecords => ({
  topic,
  partition,
  records: { count, bytes: Buffer.alloc(count), firstTimestamp: 0, maxTimestamp: 0 },
});
const everywhere = [to('ipos', 0), to('ipos', 1, 2), to('ipos.current', 0, 3)];

/** By place: the sequence numbers of the requests that went there, in their order. */
function sequencesOf(produced: readonly { request: ProduceRequest }[]): Record<string, number[]> {
  const found: Record<string, number[]> = {};
  for (const { request } of produced) {
    for (const { topic, partitions } of request.topicData) {
      for (const { partition, firstSequence } of partitions) {
        found[`${topic}/${partition}`] ??= [];
        found[`${topic}/${partition}`]!.push(firstSequence);
      }
    }
  }
  return found;
}

it('asks once for the coordinator, adds all partitions at once, and writes to each leader once', async () => {
  const { calls, connect } = brokers({ 'ipos.current/0': '1' });
  const producer = await connect();
  for (let i = 0; i < 2; i++) {
    await producer.begin(everywhere);
    const appended = await producer.send(everywhere, CompressionTypes.None);
    expect(appended.map(({ topic, partition, baseOffset }) => [topic, partition, baseOffset])).toEqual(
      expect.arrayContaining([
        ['ipos', 0, 100n],
        ['ipos', 1, 100n],
        ['ipos.current', 0, 100n],
      ]),
    );
    await producer.commit();
  }
  const transaction = ['add ipos/0+1 ipos.current/0', 'produce 1', 'produce 2', 'commit 1'];
  expect(calls).toEqual(['topics ipos ipos.current', 'find', 'init 1', ...transaction, ...transaction]);
});

it('commits at once under a quota, and begins the next transaction when the quota allows writing again', async () => {
  const { at, calls, connect } = brokers();
  const producer = await connect();
  at.heldBackMs = 200;
  const wroteAt = performance.now();
  await producer.begin(everywhere);
  await producer.send(everywhere, CompressionTypes.None);
  await producer.commit();
  await producer.begin(everywhere);
  // A timer may end a moment early by this clock.
  expect(performance.now() - wroteAt).toBeGreaterThanOrEqual(190);
  expect(calls.at(-1)).toMatch(/^add /);
});

it('sends no more of a transaction that would be timed out before a quota allows it', async () => {
  const { at, calls, connect } = brokers();
  const producer = await connect();
  at.heldBackMs = 30_000;
  await producer.begin(everywhere);
  await producer.send(everywhere, CompressionTypes.None);
  await expect(producer.send(everywhere, CompressionTypes.None)).rejects.toMatchObject({
    code: 'LOG_FAILED',
    message: expect.stringContaining('for 30 s, and a transaction may be open for 10 s'),
  });
  await producer.abort();
  expect(calls.at(-1)).toBe('abort 1');
});

it('a producer that is disconnected does not wait for a quota', async () => {
  const { at, connect } = brokers();
  const producer = await connect();
  at.heldBackMs = 3_600_000;
  await producer.begin(everywhere);
  await producer.send(everywhere, CompressionTypes.None);
  await producer.commit();
  const next = producer.begin(everywhere);
  await producer.disconnect();
  await next.catch(() => undefined);
});

it('begins again at 0 behind the last number of 32 bits', async () => {
  const { produced, connect } = brokers();
  const producer = await connect();
  const many = { ...to('ipos', 0), records: { ...to('ipos', 0).records, count: 2 ** 31 - 2 } };
  await producer.send([many], CompressionTypes.None);
  await producer.send([to('ipos', 0, 3)], CompressionTypes.None);
  await producer.send([to('ipos', 0)], CompressionTypes.None);
  expect(sequencesOf(produced)['ipos/0']).toEqual([0, 2 ** 31 - 2, 1]);
});

it('writes again what was refused, under the same numbers, to the leader there is by then, and nothing else', async () => {
  const { at, calls, produced, connect, refuse } = brokers();
  refuse('produce 2', refusal('NOT_LEADER_FOR_PARTITION', true));
  const producer = await connect();
  let answerThird = () => {};
  const third = new Promise<void>((resolve) => {
    answerThird = resolve;
  });
  at.answer = async (request, node) => {
    if (node === '3') await third;
    return taken(request);
  };
  const sending = producer.send(everywhere, CompressionTypes.None);
  // Refused records wait for the answers of the others, longer than the first pause, because no request of this round may be
  // outstanding in the next.
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(calls.filter((call) => call.startsWith('produce')).sort()).toEqual([
    'produce 1',
    'produce 2',
    'produce 3',
  ]);
  at.leaders['ipos/1'] = '1';
  answerThird();
  await sending;
  expect(calls.slice(6)).toEqual(['refresh', 'produce 1']);
  expect(produced.at(-1)!.request.topicData.map(({ topic }) => topic)).toEqual(['ipos']);
  await producer.send(everywhere, CompressionTypes.None);
  expect(sequencesOf(produced)).toEqual({ 'ipos/0': [0, 1], 'ipos/1': [0, 0, 2], 'ipos.current/0': [0, 3] });
});

it.each(['OUT_OF_ORDER_SEQUENCE_NUMBER', 'INVALID_PRODUCER_EPOCH', 'TOPIC_AUTHORIZATION_FAILED'])(
  'does not write again what will not be taken: %s, also when another leader only moved',
  async (type) => {
    const { produced, connect, refuse } = brokers();
    refuse('produce 1', refusal('NOT_LEADER_FOR_PARTITION', true));
    refuse('produce 2', refusal(type, false));
    const producer = await connect();
    await expect(producer.send(everywhere, CompressionTypes.None)).rejects.toMatchObject({ type });
    expect(produced).toHaveLength(3);
  },
);

it('gives up what does not pass in time, and at once when it is let go of', async () => {
  const { calls, connect, refuse } = brokers();
  const moved = () => refusal('NOT_LEADER_FOR_PARTITION', true);
  refuse('produce 1', ...Array.from({ length: 1_000 }, moved));
  const impatient = await connect(new AbortController().signal, 50);
  await expect(impatient.send([to('ipos', 0)], CompressionTypes.None)).rejects.toMatchObject({
    type: 'NOT_LEADER_FOR_PARTITION',
  });
  expect(calls.filter((call) => call === 'produce 1').length).toBeGreaterThan(1);

  const patient = await connect(new AbortController().signal, 60_000);
  calls.length = 0;
  const sending = patient.send([to('ipos', 0)], CompressionTypes.None);
  while (!calls.includes('produce 1')) await new Promise(setImmediate);
  const { length } = calls;
  await patient.disconnect();
  await expect(sending).rejects.toMatchObject({ name: 'AbortError' });
  expect(calls.slice(length)).not.toContain('produce 1');
});

it('names what may be missing, where the brokers do not say which of several', async () => {
  const { connect, refuse } = brokers({ 'ipos/1': '1' });
  const gone = () => refusal('UNKNOWN_TOPIC_OR_PARTITION', true);
  refuse('produce 1', ...Array.from({ length: 1_000 }, gone));
  const producer = await connect(new AbortController().signal, 50);
  await expect(producer.send(everywhere, CompressionTypes.None)).rejects.toMatchObject({
    code: 'LOG_TOPIC_LOST',
    message: 'One of these partitions is not there any more: ipos/0, ipos/1',
  });
});

it('does not begin when nobody wants it any more', async () => {
  const { calls, connect } = brokers();
  await expect(connect(AbortSignal.abort(new Error('no')))).rejects.toThrow('no');
  expect(calls).toEqual(['disconnect']);
});

it('waits for the markers of the transaction before, without asking who leads', async () => {
  const { calls, connect, refuse } = brokers();
  const busy = () => refusal('CONCURRENT_TRANSACTIONS', true);
  refuse('add ipos/0', busy(), busy());
  const producer = await connect();
  await producer.begin([to('ipos', 0)]);
  expect(calls.filter((call) => call === 'add ipos/0')).toHaveLength(3);
  expect(calls).not.toContain('refresh');
});

it('names the partition that is not there, out of many, and keeps what the brokers said', async () => {
  const { calls, connect, refuse } = brokers();
  const gone = () => refusal('UNKNOWN_TOPIC_OR_PARTITION', true);
  refuse('add ipos/0+1 ipos.current/0', refusal('OPERATION_NOT_ATTEMPTED', false));
  refuse('add ipos/1', ...Array.from({ length: 1_000 }, gone));
  const producer = await connect(new AbortController().signal, 50);
  await expect(producer.begin(everywhere)).rejects.toMatchObject({
    code: 'LOG_TOPIC_LOST',
    message: 'Partition 1 of topic ipos is not there any more',
    cause: { type: 'UNKNOWN_TOPIC_OR_PARTITION' },
  });
  // It may have been there a moment later.
  expect(calls.filter((call) => call === 'add ipos/1').length).toBeGreaterThan(1);
});

it('is told of what it may not write to, and of being refused, as the brokers say it', async () => {
  const { calls, connect, refuse } = brokers();
  refuse(
    'add ipos/0+1 ipos.current/0',
    refusal('OPERATION_NOT_ATTEMPTED', false),
    refusal('INVALID_PRODUCER_EPOCH', false),
  );
  refuse('add ipos.current/0', refusal('TOPIC_AUTHORIZATION_FAILED', false));
  const producer = await connect();
  await expect(producer.begin(everywhere)).rejects.toMatchObject({ type: 'TOPIC_AUTHORIZATION_FAILED' });
  calls.length = 0;
  await expect(producer.begin(everywhere)).rejects.toMatchObject({ type: 'INVALID_PRODUCER_EPOCH' });
  expect(calls.filter((call) => call.startsWith('add'))).toHaveLength(1);
});

it('looks for another coordinator where the one that it knew is not it any more, or is away', async () => {
  const { at, calls, connect, refuse } = brokers();
  const producer = await connect();
  at.coordinator = '2';
  refuse('commit 1', refusal('NOT_COORDINATOR_FOR_GROUP', true));
  await producer.commit();
  expect(calls.slice(-3)).toEqual(['refresh', 'find', 'commit 2']);
  at.isAway.add('2');
  at.coordinator = '3';
  await producer.commit();
  expect(calls.slice(-2)).toEqual(['find', 'commit 3']);
});

it('commits once: after an error nobody knows whether it was done', async () => {
  const { calls, connect, refuse } = brokers();
  refuse('commit 1', new KafkaJSConnectionError('Closed connection'));
  const producer = await connect();
  await expect(producer.commit()).rejects.toThrow('Closed connection');
  expect(calls.filter((call) => call === 'commit 1')).toHaveLength(1);
});

it('waits until what was before is ended, and keeps no connection where it cannot begin', async () => {
  const { calls, connect, refuse } = brokers();
  refuse(
    'init 1',
    refusal('CONCURRENT_TRANSACTIONS', true),
    refusal('TRANSACTIONAL_ID_AUTHORIZATION_FAILED', false),
  );
  await expect(connect()).rejects.toMatchObject({ type: 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED' });
  expect(calls.slice(1)).toEqual(['find', 'init 1', 'init 1', 'disconnect']);
});

const own = { partition: 1, errorCode: 0, baseOffset: '100' as string | undefined };
it.each<[string, string, (typeof own)[], string]>([
  ['names another partition', 'ipos', [{ ...own, partition: 2 }], 'ipos/2 with code 0'],
  ['names another topic', 'analysts', [own], 'analysts/1 with code 0'],
  ['is empty', 'ipos', [], 'the answer was empty'],
  ['names the partition twice', 'ipos', [own, own], 'ipos/1 with code 0, ipos/1 with code 0'],
  ['names another partition too', 'ipos', [own, { ...own, partition: 2 }], 'ipos/2 with code 0'],
  ['has an error code', 'ipos', [{ ...own, errorCode: 45 }], 'ipos/1 with code 45'],
  ['has an error code of the broker', 'ipos', [{ ...own, errorCode: -1 }], 'ipos/1 with code -1'],
  ['has no offset', 'ipos', [{ ...own, baseOffset: undefined }], 'ipos/1 with code 0'],
  ['has an offset below zero', 'ipos', [{ ...own, baseOffset: '-1' }], 'ipos/1 with code 0'],
])('believes nothing of an answer that %s', async (_name, topicName, partitions, text) => {
  const { at, produced, connect } = brokers();
  at.answer = () => [{ topicName, partitions }] as Produced;
  const producer = await connect();
  const sending = producer.send([to('ipos', 1, 3)], CompressionTypes.None);
  await expect(sending).rejects.toMatchObject({
    code: 'LOG_FAILED',
    message: expect.stringMatching(/^3 records were sent to ipos\/1, and the answer was /),
  });
  await expect(sending).rejects.toThrow(text);
  expect(produced).toHaveLength(1);
});

it('reads an offset beyond what a number holds', async () => {
  const { at, connect } = brokers();
  at.answer = () => [
    { topicName: 'ipos', partitions: [{ partition: 0, errorCode: 0, baseOffset: '9007199254740993' }] },
  ];
  const producer = await connect();
  const [appended] = await producer.send([to('ipos', 0)], CompressionTypes.None);
  expect(appended!.baseOffset).toBe(9_007_199_254_740_993n);
});
