import { KafkaJSProtocolError } from 'kafkajs';
import type { Broker, Cluster } from '../../../../src/log/kafka/connection/cluster';
import type { FetchedPartition } from '../../../../src/log/kafka/protocol/fetch';
import {
  fetchDecoded,
  fetchRound,
  type PartitionPosition,
} from '../../../../src/log/kafka/reader/partition-reader';
import { readThrough } from '../../../../src/log/kafka/reader/restore';
import { fetchedBatch, fetchedPartition, fetchingBroker } from '../../../support/fetched';

/** A topic `t` of which each partition has its own leader, and three records in one batch. */
function cluster(answers: (nodeId: string) => Promise<void>): Cluster {
  return {
    findLeaderForPartitions: (_topic: string, [number]: readonly number[]) => ({
      [`broker ${number}`]: [number!],
    }),
    findBroker: async ({ nodeId }: { readonly nodeId: string }) =>
      fetchingBroker(async ({ topics }) => {
        await answers(nodeId);
        const partitions = topics.flatMap((topic) =>
          topic.partitions.map(({ partition, fetchOffset }) => {
            const batches = Number(fetchOffset) < 3 ? [fetchedBatch(0, { keys: ['a', 'b', 'c'] })] : [];
            return fetchedPartition(batches, { partition, lastStableOffset: 3n });
          }),
        );
        return { responses: [{ topicName: 't', partitions }] };
      }),
  } as unknown as Cluster;
}

const positions = (): PartitionPosition[] =>
  [0, 1].map((partition) => ({ topic: 't', partition, next: 0n, end: null }));

it.each(['before', 'after'] as const)(
  'of a round in which one leader fails nothing is lost, if the other answers %s that',
  async (when) => {
    let isBroken = true;
    let fail = (): void => undefined;
    const failed = new Promise<void>((resolve) => {
      fail = resolve;
    });
    let answered = (): void => undefined;
    const other = new Promise<void>((resolve) => {
      answered = resolve;
    });
    const broken = cluster(async (nodeId) => {
      if (!isBroken) return;
      if (nodeId === 'broker 0') {
        if (when === 'after') await failed;
        answered();
        return;
      }
      if (when === 'before') await other;
      throw new Error('broken');
    });
    const places = positions();
    await expect(fetchRound(broken, places, 0)).rejects.toThrow('broken');
    fail();
    await other;
    await new Promise(setImmediate);
    expect(places.map(({ next }) => next)).toEqual([0n, 0n]);
    isBroken = false;
    const records = [...(await fetchRound(broken, places, 0))];
    expect(records.map(({ partition, logOffset }) => `${partition}/${logOffset}`).sort()).toEqual([
      '0/0',
      '0/1',
      '0/2',
      '1/0',
      '1/1',
      '1/2',
    ]);
    expect(places.map(({ next }) => next)).toEqual([3n, 3n]);
  },
);

it('leaves out a partition without a leader while another has one, and fails when none has', async () => {
  const [led, leaderless] = positions();
  const healthy = cluster(async () => undefined);
  const halved: Cluster = {
    ...healthy,
    findLeaderForPartitions: (topic, numbers) =>
      numbers[0] === 1 ? { '-1': [1] } : healthy.findLeaderForPartitions(topic, numbers),
  };
  const records = [...(await fetchRound(halved, [led!, leaderless!], 0))];
  expect(records.map(({ partition, logOffset }) => `${partition}/${logOffset}`)).toEqual([
    '0/0',
    '0/1',
    '0/2',
  ]);
  expect([led!.next, leaderless!.next, leaderless!.isHeldBack]).toEqual([3n, 0n, true]);
  await expect(fetchRound(halved, [{ ...led!, end: 3n }, leaderless!], 0)).rejects.toMatchObject({
    code: 'LOG_FAILED',
    message: expect.stringContaining('partition 1 of topic t has no leader'),
  });
});

it('begins within a batch, and ends within one', async () => {
  const [first, second] = positions();
  const places = [
    { ...first!, next: 1n },
    { ...second!, end: 2n },
  ];
  const records = [
    ...(await fetchRound(
      cluster(async () => undefined),
      places,
      0,
    )),
  ];
  expect(records.map(({ partition, key }) => `${partition} ${key}`)).toEqual(['0 b', '0 c', '1 a', '1 b']);
});

/** The topic `t` with a single partition, by who asks: for what is committed (1) or for all (0). */
function single(answers: Record<0 | 1, FetchedPartition>): Cluster {
  return {
    findLeaderForPartitions: () => ({ 1: [0] }),
    findBroker: async () =>
      fetchingBroker(async ({ isolationLevel }) => ({
        responses: [{ topicName: 't', partitions: [answers[isolationLevel]] }],
      })),
  } as unknown as Cluster;
}

describe('where nothing comes though something stable ought to be there', () => {
  const nothing = fetchedPartition([], { lastStableOffset: 10n });
  const place = { topic: 't', partition: 0, next: 5n };

  it('it goes on at the open transaction before which compaction took all', async () => {
    const position = { ...place, end: null };
    await fetchRound(single({ 1: nothing, 0: fetchedPartition([fetchedBatch(10)]) }), [position], 0);
    expect(position.next).toBe(10n);
  });

  it('it waits for what is there and only did not come', async () => {
    const position = { ...place, end: 20n };
    await fetchRound(single({ 1: nothing, 0: fetchedPartition([fetchedBatch(5)]) }), [position], 0);
    expect(position).toMatchObject({ next: 5n, isHeldBack: true });
  });

  it.each([
    ['a reader without an end waits for what is to come', null, 'compact', 5n],
    ['who has an end comes to it over the gap that compaction left', 20n, 'compact,delete', 6n],
    ['who has an end waits where no compaction is', 20n, 'delete', 5n],
    ['who has an end waits where the topic does not tell', 20n, null, 5n],
  ])('and nothing else either, %s', async (_, end, policy, next) => {
    const position = { ...place, end };
    const cluster = single({ 1: nothing, 0: fetchedPartition([]) });
    const findBroker = cluster.findBroker.bind(cluster);
    const describeConfigs = async () => {
      if (policy === null)
        throw new KafkaJSProtocolError({ type: 'TOPIC_AUTHORIZATION_FAILED' } as unknown as Error);
      return { resources: [{ configEntries: [{ configName: 'cleanup.policy', configValue: policy }] }] };
    };
    cluster.findBroker = async (node) =>
      ({ ...(await findBroker(node)), describeConfigs }) as unknown as Broker;
    await fetchRound(cluster, [position], 0);
    expect(position.next).toBe(next);
  });

  it('a batch of which only a part came is not stepped over', async () => {
    const position = { ...place, end: 20n };
    const part = fetchedPartition([], { recordBytes: 70 });
    await expect(fetchRound(single({ 1: part, 0: part }), [position], 0)).rejects.toMatchObject({
      code: 'LOG_UNREADABLE',
      message: 'a broker sent 70 bytes of t/0 from offset 5 on, which are not a whole batch',
    });
    expect(position.next).toBe(5n);
  });
});

it('a round that cannot be decoded loses nothing', async () => {
  const [place] = positions();
  const broken = { ...fetchedBatch(1), bytes: Buffer.from([1]) };
  const answer = fetchedPartition([fetchedBatch(0), broken]);
  const both = single({ 1: answer, 0: answer });
  await expect(fetchDecoded(both, [place!], 0)).rejects.toMatchObject({
    code: 'LOG_UNREADABLE',
    message: expect.stringContaining('the batch of t/0 at offset 1 cannot be'),
  });
  expect(place!.next).toBe(0n);
});

it('a topic that is read to its end, and is not compacted, loses nothing while remote storage is slow', async () => {
  const records = fetchedPartition([fetchedBatch(0, { keys: ['a', 'b'] })], { lastStableOffset: 2n });
  let fetched = 0;
  const slow = {
    ...single({ 0: fetchedPartition([]), 1: records }),
    findTopicPartitionMetadata: () => [{ partitionId: 0 }],
    findBroker: async () => ({
      ...fetchingBroker(async ({ isolationLevel }) => {
        const isThere = isolationLevel === 1 && ++fetched > 3;
        const partitions = [isThere ? records : fetchedPartition([], { lastStableOffset: 2n })];
        return { responses: [{ topicName: 't', partitions }] };
      }),
      listOffsets: async () => ({
        responses: [
          { topic: 't', partitions: [{ partition: 0, offset: '0', errorCode: 0, timestamp: '-1' }] },
        ],
      }),
      describeConfigs: async () => ({
        resources: [{ configEntries: [{ configName: 'cleanup.policy', configValue: 'delete' }] }],
      }),
    }),
  } as unknown as Cluster;
  const through = new Map([[0, 1n]]);
  const { signal } = new AbortController();
  const found: string[] = [];
  for await (const { key } of readThrough(slow, 't', { through, signal, stallMs: 30_000 })) found.push(key);
  expect(found).toEqual(['a', 'b']);
});
