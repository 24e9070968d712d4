import { KafkaJSConnectionError } from 'kafkajs';
import type { Cluster } from '../../../../../src/log/kafka/connection/cluster';
import { sharedFetch } from '../../../../../src/log/kafka/consumer/shared-fetch';
import { LeaderlessNotes } from '../../../../../src/log/kafka/reader/leaderless';
import type { ReadingDeps } from '../../../../../src/log/kafka/reader/reading';
import type { Logger } from '../../../../../src/logging/logger';
import { fetchedBatch, fetchedPartition, fetchingBroker } from '../../../../support/fetched';
import { quietLogger } from '../../../../support/source';

/** Reads from one broker that leads every partition. */
function fetchingFrom(
  broker: ReturnType<typeof fetchingBroker>,
  more: Partial<Cluster> = {},
  logger: Logger = quietLogger(),
) {
  const port = {
    findLeaderForPartitions: () => ({ 1: [0] }),
    findBroker: async () => broker,
    ...more,
  } as unknown as Cluster;
  const over = new AbortController();
  const fetching = sharedFetch(port, {
    target: {} as ReadingDeps['target'],
    logger,
    signal: over.signal,
    topicIds: new Map(),
    recreated: () => undefined,
    notes: new LeaderlessNotes(quietLogger()),
  });
  return { fetching, over };
}

it('never takes what was fetched and not handed over yet for done, at no moment between the two', async () => {
  // Each answer has one record, when the test lets it.
  const answers: (() => void)[] = [];
  const broker = fetchingBroker(async ({ topics }) => {
    const { fetchOffset } = topics[0]!.partitions[0]!;
    await new Promise<void>((resolve) => answers.push(resolve));
    const batches = [fetchedBatch(Number(fetchOffset))];
    return { responses: [{ topicName: 't', partitions: [fetchedPartition(batches)] }] };
  });
  const { fetching, over } = fetchingFrom(broker);
  const records = fetching.records('t', 0, 0)[Symbol.asyncIterator]();
  const first = records.next();
  await new Promise(setImmediate);
  answers.shift()!();
  expect((await first).value).toMatchObject([{ logOffset: 0 }]);
  // The next answer comes while the first record is worked on; its work ends at any moment of that.
  await new Promise(setImmediate);
  answers.shift()!();
  const places: number[] = [];
  for (let tick = 0; tick < 100; tick++) {
    places.push(fetching.settled('t', 0, 1));
    await Promise.resolve();
  }
  expect(new Set(places)).toEqual(new Set([1]));
  expect((await records.next()).value).toMatchObject([{ logOffset: 1 }]);
  over.abort();
  await records.return!();
});

it('a partition that cannot be decoded is named, and costs the others nothing', async () => {
  const broken = { ...fetchedBatch(0), bytes: Buffer.from([1]) };
  let questions = 0;
  const broker = fetchingBroker(async ({ topics }) => {
    // The first question is of one partition, and its answer empty: the second one is of both.
    const isFirst = questions++ === 0;
    await new Promise(setImmediate);
    return {
      responses: topics.map(({ topic, partitions: [asked] }) => {
        const { partition, fetchOffset } = asked!;
        const offset = Number(fetchOffset);
        const batches = isFirst || offset > 0 ? [] : [partition === 1 ? broken : fetchedBatch(0)];
        return {
          topicName: topic,
          partitions: [fetchedPartition(batches, { partition, lastStableOffset: 0n })],
        };
      }),
    };
  });
  const { fetching, over } = fetchingFrom(broker);
  const [whole, damaged] = [0, 1].map((partition) =>
    fetching.records('t', partition, 0)[Symbol.asyncIterator](),
  );
  const answers = await Promise.allSettled([whole!.next(), damaged!.next()]);
  expect(answers).toMatchObject([
    { value: { value: [{ logOffset: 0 }] } },
    { reason: { code: 'LOG_UNREADABLE', message: expect.stringContaining('t/1') } },
  ]);
  over.abort();
});

describe('a broker that cannot be reached', () => {
  afterEach(() => jest.useRealTimers());

  /** The broker 1 is away, and the broker 2 answers. */
  function movingLeader() {
    const said: string[] = [];
    const say = (message: string) => void said.push(message);
    const logger = { ...quietLogger(), warn: say, info: say };
    const broker = fetchingBroker(async () => {
      await new Promise(setImmediate);
      return { responses: [{ topicName: 't', partitions: [fetchedPartition([fetchedBatch(0)])] }] };
    });
    const at = { leader: '1', isTriedAgain: (): void => undefined };
    const { fetching, over } = fetchingFrom(
      broker,
      {
        findLeaderForPartitions: () => (at.leader === '' ? {} : { [at.leader]: [0] }),
        async findBroker({ nodeId }) {
          if (nodeId === '1') throw new KafkaJSConnectionError('Connection error: away');
          return broker;
        },
        refreshMetadata: async () => at.isTriedAgain(),
      },
      logger,
    );
    return { at, said, over, records: fetching.records('t', 0, 0)[Symbol.asyncIterator]() };
  }

  it('is nothing to tell of when another one leads its partitions within 10 s', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    const { at, said, over, records } = movingLeader();
    at.isTriedAgain = () => {
      at.leader = '2';
    };
    await records.next();
    jest.advanceTimersByTime(10_000);
    expect(said).toEqual([]);
    over.abort();
  });

  it('is told of in time though its partitions have no leader for a while', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    const { at, said, over, records } = movingLeader();
    at.isTriedAgain = () => {
      jest.advanceTimersByTime(6_000);
      at.leader = at.leader === '1' ? '' : '2';
    };
    await records.next();
    expect(said).toEqual([
      'Reading t from the broker with the id 1 has not succeeded for 10 s. It is tried again.',
      'Nothing is read from the broker with the id 1 any more: it leads no partition.',
    ]);
    over.abort();
  });

  it('is not waited for when another one leads its partitions later', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    const { at, said, over, records } = movingLeader();
    at.isTriedAgain = () => {
      jest.advanceTimersByTime(10_000);
      at.leader = '2';
    };
    await records.next();
    expect(said).toEqual([
      'Reading t from the broker with the id 1 has not succeeded for 10 s. It is tried again.',
      'Nothing is read from the broker with the id 1 any more: it leads no partition.',
    ]);
    over.abort();
  });
});
