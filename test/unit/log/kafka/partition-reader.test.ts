import type { Cluster } from '../../../../src/log/kafka/cluster';
import { fetchRound, type PartitionPosition } from '../../../../src/log/kafka/partition-reader';
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

it('does not step over a batch of which only a part came', async () => {
  const [place] = positions();
  const answer = fetchedPartition([], { recordBytes: 70 });
  const cut = {
    findLeaderForPartitions: () => ({ 1: [0] }),
    findBroker: async () =>
      fetchingBroker(async () => ({ responses: [{ topicName: 't', partitions: [answer] }] })),
  } as unknown as Cluster;
  await expect(fetchRound(cut, [place!], 0)).rejects.toMatchObject({
    ...{ code: 'LOG_UNREADABLE', message: 'of t/0 from offset 0 on came 70 bytes, which are no whole batch' },
  });
  expect(place!.next).toBe(0n);
});
