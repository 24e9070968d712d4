import type { FetchedPartition } from '../../../../src/log/kafka/protocol/fetch';
import type { RecordBatch } from '../../../../src/log/kafka/protocol/record-batch';
import { committedBatches, nextOffset } from '../../../../src/log/kafka/reader/partition-reader';
import { fetchedBatch, fetchedPartition } from '../../../support/fetched';

const [A, B, C] = [1n, 2n, 3n] as const;
type Kind = 'plain' | 'transactional' | 'marker';

function batch(offset: number, producerId: bigint, kind: Kind): RecordBatch {
  return fetchedBatch(offset, { producerId, inTransaction: kind !== 'plain', isControl: kind === 'marker' });
}

function fetched(batches: RecordBatch[], aborted: readonly (readonly [bigint, bigint])[]): FetchedPartition {
  const abortedTransactions = aborted.map(([producerId, firstOffset]) => ({ producerId, firstOffset }));
  return fetchedPartition(batches, { abortedTransactions });
}

const offsets = (batches: RecordBatch[], ...aborted: (readonly [bigint, bigint])[]) =>
  committedBatches(fetched(batches, aborted)).map(({ baseOffset }) => Number(baseOffset));

it('leaves out markers', () => {
  const all = [batch(0, A, 'transactional'), batch(1, A, 'marker'), batch(2, A, 'plain')];

  expect(offsets(all)).toEqual([0, 2]);
});

it('leaves out an aborted transaction up to its marker', () => {
  const all = [
    batch(0, A, 'transactional'),
    batch(1, B, 'transactional'),
    batch(2, A, 'plain'),
    batch(3, A, 'marker'),
    batch(4, A, 'transactional'),
  ];

  expect(offsets(all, [A, 0n])).toEqual([1, 2, 4]);
});

it('leaves out each of several aborted transactions of one producer, and not the one in between', () => {
  const all = [0, 1, 2, 3, 4, 5].map((offset) =>
    batch(offset, A, offset % 2 === 0 ? 'transactional' : 'marker'),
  );

  expect(offsets(all, [A, 4n], [A, 0n])).toEqual([2]);
});

it('knows several aborted transactions that began before the first batch', () => {
  const all = [batch(10, B, 'transactional'), batch(11, A, 'transactional'), batch(12, C, 'transactional')];

  expect(offsets(all, [A, 3n], [B, 5n])).toEqual([12]);
});

it('does not take a record for a marker, whatever its key is', () => {
  const marked = fetchedBatch(0, { keys: ['\0\0\0\0'], producerId: A, inTransaction: true });

  expect(offsets([marked, batch(1, A, 'transactional')], [A, 0n])).toStrictEqual([]);
});

it('goes on behind the whole batch, also where compaction has left a part of it or nothing', () => {
  const lastOffset = 13n;

  expect(nextOffset({ batches: [fetchedBatch(4, { lastOffset })] }, 4n)).toBe(14n);
  expect(nextOffset({ batches: [fetchedBatch(4, { lastOffset, keys: [] })] }, 4n)).toBe(14n);
  expect(nextOffset({ batches: [] }, 4n)).toBe(4n);
});

it('goes on where only earlier batches came', () => {
  expect(nextOffset({ batches: [fetchedBatch(3)] }, 7n)).toBe(8n);
});
