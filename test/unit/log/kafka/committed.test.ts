import type { FetchedMessage, FetchedPartition } from '../../../../src/log/kafka/cluster';
import { committedMessages, nextOffset } from '../../../../src/log/kafka/committed';

type Kind = 'plain' | 'transactional' | 'marker';

function message(offset: number, producerId: string, kind: Kind, key = `key ${offset}`): FetchedMessage {
  return {
    ...{ offset: String(offset), timestamp: '0', key: Buffer.from(key), value: null, headers: {} },
    isControlRecord: kind === 'marker',
    batchContext: {
      firstOffset: String(offset),
      lastOffsetDelta: 0,
      producerId,
      inTransaction: kind !== 'plain',
    },
  };
}

function fetched(
  messages: FetchedMessage[],
  aborted: Record<string, number> = {},
  lastStableOffset = 1_000,
): FetchedPartition {
  return {
    ...{ partition: 0, lastStableOffset: String(lastStableOffset), messages },
    abortedTransactions: Object.entries(aborted).map(([producerId, firstOffset]) => ({
      producerId,
      firstOffset: String(firstOffset),
    })),
  };
}

const offsets = (partition: FetchedPartition, from = 0n) =>
  [...committedMessages(partition, from)].map(({ offset }) => Number(offset));

it('leaves out markers, and what lies before the offset asked for', () => {
  const all = [message(0, 'a', 'transactional'), message(1, 'a', 'marker'), message(2, 'a', 'plain')];

  expect(offsets(fetched(all))).toEqual([0, 2]);
  expect(offsets(fetched(all), 1n)).toEqual([2]);
});

it('leaves out an aborted transaction up to its marker', () => {
  const all = [
    message(0, 'a', 'transactional'),
    message(1, 'b', 'transactional'),
    message(2, 'a', 'plain'),
    message(3, 'a', 'marker'),
    message(4, 'a', 'transactional'),
  ];

  expect(offsets(fetched(all, { a: 0 }))).toEqual([1, 2, 4]);
});

it('knows several aborted transactions that began before the first record', () => {
  const all = [
    message(10, 'b', 'transactional'),
    message(11, 'a', 'transactional'),
    message(12, 'c', 'transactional'),
  ];

  expect(offsets(fetched(all, { a: 3, b: 5 }))).toEqual([12]);
});

it('does not take a record with a key of zero bytes for the end of an aborted transaction', () => {
  const all = [message(0, 'a', 'transactional', '\0\0\0\0'), message(1, 'a', 'transactional')];

  expect(offsets(fetched(all, { a: 0 }))).toEqual([]);
});

it('goes on behind the whole batch, also where compaction has left a part of it', () => {
  const compacted = message(5, 'a', 'plain');
  const partition = fetched([
    { ...compacted, batchContext: { ...compacted.batchContext, firstOffset: '4', lastOffsetDelta: 9 } },
  ]);

  expect(nextOffset(partition, 4n)).toBe(14n);
  expect(nextOffset(fetched([]), 4n)).toBe(4n);
});

it('goes on where only earlier records of a batch came', () => {
  expect(nextOffset(fetched([message(3, 'a', 'plain')]), 7n)).toBe(8n);
});
