import type { Cluster } from '../../../../src/log/kafka/connection/cluster';
import type { FetchAnswer, FetchedPartition } from '../../../../src/log/kafka/protocol/fetch';
import { batchesBetween } from '../../../../src/log/kafka/reader/partition-reader';
import { fetchedBatch, fetchedPartition, fetchingBroker } from '../../../support/fetched';

/** One that answers as it is told, in order. Null: it wants to be asked less, and says nothing of any partition. */
function cluster(...answers: (FetchedPartition | null)[]): Cluster {
  return {
    findLeaderForPartitions: () => ({ 1: [0] }),
    findBroker: async () =>
      fetchingBroker(async (): Promise<FetchAnswer> => {
        if (answers.length === 0) throw new Error('asked once too often');
        const answer = answers.shift();
        return { responses: answer ? [{ topicName: 't', partitions: [answer] }] : [] };
      }),
  } as unknown as Cluster;
}

async function between(asked: Cluster, from: bigint, to: bigint): Promise<number[]> {
  const found: number[] = [];
  for await (const { baseOffset } of batchesBetween(asked, { topic: 't', partition: 0 }, from, to)) {
    found.push(Number(baseOffset));
  }
  return found;
}

it('gives all that touches what was asked for, and asks no further', async () => {
  const three = (offset: number) => fetchedBatch(offset, { keys: ['a', 'b', 'c'] });
  const answers = [fetchedPartition([three(0), three(3)]), fetchedPartition([three(6), three(9)])];
  expect(await between(cluster(...answers), 4n, 8n)).toEqual([3, 6]);
});

it('ends where compaction took the rest', async () => {
  const answers = [fetchedPartition([fetchedBatch(0)]), fetchedPartition([], { highWatermark: 9n })];
  expect(await between(cluster(...answers), 0n, 9n)).toEqual([0]);
});

it.each([
  ['a broker that was asked too much has said nothing', null],
  ['a new leader does not know yet', fetchedPartition([], { highWatermark: 0n })],
])('asks again where %s', async (_, first) => {
  expect(await between(cluster(first, fetchedPartition([fetchedBatch(0)])), 0n, 1n)).toEqual([0]);
});

it('does not take a part of a batch for the end', async () => {
  const part = fetchedPartition([], { recordBytes: 70 });
  await expect(between(cluster(part), 0n, 1n)).rejects.toMatchObject({ code: 'LOG_UNREADABLE' });
});
