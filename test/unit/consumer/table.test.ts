import fc from 'fast-check';
import type { Decoder } from '../../../src/avro/codec/record-decoder';
import { openTable, type TableChange } from '../../../src/consumer/table';
import type { ConsumerLog } from '../../../src/log/consumer-log';
import { feedTopics } from '../../../src/log/topics';
import { createRandom } from '../../../src/simulator/random';
import { type ModelRecord, modelConsumerLog } from '../../support/model-consumer-log';
import { runs } from '../../support/runs';
import { quietLogger } from '../../support/source';
import { until } from '../../support/until';

type Row = { readonly n: number };

const topics = feedTopics({ name: 'ipos', topic: 'ipos', transitions: [] }, '');
const [changes, current, sourceOffset] = [topics.changes.name, topics.current.name, topics.sourceOffset.name];

const unclosed = { closing: new AbortController().signal, logger: quietLogger(), track: () => undefined };

/** Values of the model are JSON. */
const decoder: Decoder = {
  prepare: () => undefined,
  decode: ({ value }) => ({ type: null, value: value === null ? null : JSON.parse(value.toString()) }),
};

/** A publisher's step: a transaction of changes (record 0 to 7, deleted if it exists and `gone`), or a reset. */
const action = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.array(fc.record({ id: fc.nat(7), gone: fc.boolean() }), { minLength: 1, maxLength: 4 }),
  },
  { weight: 1, arbitrary: fc.constant('reset' as const) },
);

/** The transactions of a feed's life, and what is true after them. */
function life(actions: readonly (readonly { id: number; gone: boolean }[] | 'reset')[]) {
  const rows = new Map<string, Row>();
  let [incarnation, seq, lives] = ['life0', 0, 0];
  const offset = (): ModelRecord => ({
    topic: sourceOffset,
    partition: 0,
    key: 'ipos',
    value: {},
    headers: { incarnation, seq: String(seq) },
  });
  const transactions = actions.map((one): ModelRecord[] => {
    if (one === 'reset') {
      incarnation = `life${++lives}`;
      seq = 0;
      const tombstones = [...rows.keys()].map((key) => ({
        topic: current,
        partition: partitionOf(key),
        key,
        value: null,
        headers: { incarnation },
      }));
      rows.clear();
      return [...tombstones, offset()];
    }
    const written = one.flatMap(({ id, gone }): ModelRecord[] => {
      const key = `r${id}`;
      seq += 1;
      const before = rows.get(key) ?? null;
      const after = gone && before !== null ? null : { n: seq };
      if (after === null) rows.delete(key);
      else rows.set(key, after);
      const place = { partition: partitionOf(key), key };
      return [
        {
          topic: changes,
          ...place,
          value: { before, after },
          headers: { ce_id: `ipos:${incarnation}:${seq}` },
        },
        { topic: current, ...place, value: after, headers: { incarnation, seq: String(seq) } },
      ];
    });
    return [...written, offset()];
  });
  return { transactions, rows };
}

const partitionOf = (key: string) => Number(key.slice(1)) % 3;

it('a table is what the feed is, and shows each change once, whatever the writer does between two answers', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 25 }), fc.nat(), async (actions, seed) => {
      // That a feed has begun anew shows in its first change.
      const { transactions, rows } = life([...actions, [{ id: 0, gone: false }]]);
      const random = createRandom(seed);
      const chance = (n: number) => random.int(0, n - 1);
      const log = modelConsumerLog({
        transactions,
        chance,
        compacted: new Set([current, sourceOffset]),
        partitions: { [changes]: 3, [current]: 3, [sourceOffset]: 1 },
      });
      const shown: TableChange[] = [];
      const table = await openTable(
        { onChange: (change) => void shown.push(change) },
        { log: log as unknown as ConsumerLog, decoder, topics, ...unclosed },
      );
      await until(() => log.isDrained());
      await table.close();
      expect(Object.fromEntries(table)).toEqual(Object.fromEntries(rows));
      const ids = shown.filter(({ kind }) => kind !== 'reset').map(({ event }) => event.id);
      expect(ids).toEqual([...new Set(ids)]);
      // Each change begins with the state from which the publisher saw it move: nothing is missing in between, and nothing came
      // twice.
      for (const { kind, before, event } of shown) {
        if (kind !== 'reset') expect(before).toEqual((event.value as { before: Row | null }).before);
      }
    }),
    { numRuns: runs(40) },
  );
});

it.each([
  ['a value', { n: -1 }],
  ['a tombstone', null],
])('%s of another program in the topic of images hides no record', async (_, value) => {
  const { transactions, rows } = life([[{ id: 0, gone: false }], [{ id: 1, gone: false }]]);
  const foreign = { topic: current, partition: partitionOf('r0'), key: 'r0', value, headers: {} };
  // Some of these tables begin behind all changes.
  for (let seed = 0; seed < 30; seed++) {
    const random = createRandom(seed);
    const log = modelConsumerLog({
      transactions: [...transactions, [foreign]],
      chance: (n: number) => random.int(0, n - 1),
      compacted: new Set(),
      partitions: { [changes]: 3, [current]: 3, [sourceOffset]: 1 },
    });
    const table = await openTable({}, { log: log as unknown as ConsumerLog, decoder, topics, ...unclosed });
    await until(() => log.isDrained());
    await table.close();
    expect(Object.fromEntries(table)).toEqual(Object.fromEntries(rows));
  }
});

describe('a table that cannot be kept up to date', () => {
  const broken = {
    ends: async () => ({ topicId: null, ends: new Map([[0, 0]]) }),
    async *load() {},
    // biome-ignore lint/correctness/useYield: it fails before there is anything
    async *follow() {
      throw new Error('the topic is gone');
    },
  };

  it('says so to whoever listens', async () => {
    const track = (following: Promise<void>) => void following.catch(() => undefined);
    const deps = { log: broken as unknown as ConsumerLog, decoder, topics, ...unclosed, track };
    const { closed } = await openTable({}, deps);
    await expect(closed).rejects.toThrow('the topic is gone');
  });
});

describe('a table that is closed while it is loaded', () => {
  const record = {
    topic: current,
    partition: 0,
    logOffset: 0,
    timestamp: 0,
    key: 'a',
    value: Buffer.from('{}'),
    headers: { incarnation: 'one', seq: '1' },
  };
  const source = { ...record, topic: sourceOffset };

  it('is none: nothing of it goes on, and nothing is left on the signals', async () => {
    const closing = new AbortController();
    const reason = new Error('closed');
    let isFollowed = false;
    const log = {
      ends: async () => ({ topicId: null, ends: new Map([[0, 1]]) }),
      async *load(topic: string) {
        yield topic === current ? record : source;
      },
      follow() {
        isFollowed = true;
        throw new Error('the log was closed');
      },
    };
    const slow: Decoder = {
      // The registry is asked while the log is closed.
      prepare: async () => closing.abort(reason),
      decode: () => ({ type: null, value: {} }),
    };
    const own = new AbortController();
    const removed = jest.spyOn(own.signal, 'removeEventListener');
    const opening = openTable(
      { signal: own.signal },
      {
        log: log as unknown as ConsumerLog,
        decoder: slow,
        topics,
        closing: closing.signal,
        logger: quietLogger(),
        track: () => undefined,
      },
    );
    await expect(opening).rejects.toBe(reason);
    expect([isFollowed, removed.mock.calls.length]).toEqual([false, 1]);
  });
});
