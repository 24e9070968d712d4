import type { Broker, Cluster, FetchedPartition } from '../../../../src/log/kafka/cluster';
import { fetchRound, type PartitionPosition } from '../../../../src/log/kafka/partition-reader';

/** A topic `t` of which each partition has its own leader, and one record at each offset below 3. */
function cluster(answers: (nodeId: string) => Promise<void>): Cluster {
  const partition = (number: number, from: number): FetchedPartition => ({
    ...{ partition: number, lastStableOffset: '3', abortedTransactions: [] },
    messages: [0, 1, 2]
      .filter((offset) => offset >= from)
      .map((offset) => ({
        ...{ offset: String(offset), timestamp: '0', key: Buffer.from('k'), value: null, headers: {} },
        isControlRecord: false,
        batchContext: {
          ...{ firstOffset: String(offset), lastOffsetDelta: 0, producerId: '-1', inTransaction: false },
        },
      })),
  });
  return {
    findLeaderForPartitions: (_topic: string, [number]: readonly number[]) => ({
      [`broker ${number}`]: [number!],
    }),
    findBroker: async ({ nodeId }: { readonly nodeId: string }) => ({
      async fetch({ topics }: Parameters<Broker['fetch']>[0]) {
        await answers(nodeId);
        const partitions = topics.flatMap((topic) =>
          topic.partitions.map((one) => partition(one.partition, Number(one.fetchOffset))),
        );
        return { responses: [{ topicName: 't', partitions }] };
      },
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
    const records = await fetchRound(broken, places, 0);
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
