import { followTopics } from '../../../../src/admin/dashboard/change-feed';
import { HighwaterError } from '../../../../src/errors';
import type { CommitLog, LogRecord } from '../../../../src/log/commit-log';
import { quietLogger } from '../../../support/source';
import { until } from '../../../support/until';

let stop: AbortController;
let partitions: LogRecord[][];
let read: number;
let shown: string[];
let passedOver: number;
let isBegun: boolean;
let failures: unknown[];

/** At the port: a log in memory, with one topic. Like Kafka's readers, it begins again in a topic that was created again. */
const log = {
  async *read(_topics, { notBefore, follow, signal }) {
    const { positionsToEnd } = notBefore as { readonly positionsToEnd: number };
    const ends = partitions.map(({ length }) => (follow ? Number.POSITIVE_INFINITY : length));
    const next = partitions.map(({ length }) => Math.max(0, length - positionsToEnd));
    while (!signal.aborted && next.some((offset, partition) => offset < ends[partition]!)) {
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      for (const [partition, records] of partitions.entries()) {
        if (next[partition]! > records.length) next[partition] = 0;
        const record = records[next[partition]!];
        if (record === undefined) continue;
        next[partition]!++;
        read++;
        yield record;
      }
      await new Promise(setImmediate);
    }
  },
} as Pick<CommitLog, 'read'>;

beforeEach(() => {
  stop = new AbortController();
  partitions = [[], [], []];
  [read, shown, passedOver, isBegun, failures] = [0, [], 0, false, []];
});
afterEach(() => stop.abort());

function append(partition: number, count: number): void {
  const records = partitions[partition]!;
  for (let i = 0; i < count; i++) {
    const logOffset = records.length;
    const value = Buffer.from(`${partition}.${logOffset}`);
    records.push({ topic: 'analysts', partition, logOffset, key: 'k', value, headers: {}, timestamp: 0 });
  }
}

function follow(record = async ({ value }: LogRecord) => void shown.push(String(value))): void {
  const followed = {
    topics: ['analysts'],
    counted: new Set(['analysts']),
    record,
    passedOver: (count: number) => {
      passedOver += count;
    },
  };
  void followTopics(followed, { log, logger: quietLogger() }, stop.signal).then(() => {
    isBegun = true;
  });
}

it('begins shortly before the end of each partition, and goes on with what comes', async () => {
  append(0, 1_000);
  append(1, 3);
  follow();
  await until(() => shown.length === 43);
  expect(shown.filter((one) => one.startsWith('0.'))[0]).toBe('0.960');
  expect(shown).toContain('1.0');
  append(2, 2);
  await until(() => shown.length === 45);
  expect(shown.slice(-2)).toEqual(['2.0', '2.1']);
  expect([passedOver, isBegun]).toEqual([0, true]);
});

it('has begun once the records that were there are shown', async () => {
  append(0, 30);
  follow();
  await until(() => isBegun);
  expect(shown.length).toBe(30);
});

it('shows the records after a record that cannot be read', async () => {
  append(0, 3);
  follow(async ({ value, logOffset }) => {
    if (logOffset === 1) throw new HighwaterError('VALUE_FOREIGN', 'of another program');
    shown.push(String(value));
  });
  await until(() => isBegun);
  append(0, 1);
  await until(() => shown.length === 3);
  expect(shown).toEqual(['0.0', '0.2', '0.3']);
});

it('passes over a flood unread, counts it, and shows its end', async () => {
  follow();
  await until(() => isBegun);
  append(0, 20_000);
  append(1, 10_000);
  await until(() => shown.includes('0.19999') && shown.includes('1.9999'));
  append(2, 1);
  await until(() => shown.includes('2.0'));
  expect(shown.length + passedOver).toBe(30_001);
  expect(read).toBeLessThan(1_000);
});

it('shows each record once, whatever fails in between', async () => {
  append(0, 100);
  failures = [new Error('no broker')];
  follow();
  await until(() => shown.length === 40);
  failures = [new Error('no broker'), new Error('no broker')];
  append(0, 5);
  await until(() => failures.length === 0);
  append(0, 1);
  await until(() => shown.includes('0.105'));
  expect(shown).toEqual(Array.from({ length: 46 }, (_, i) => `0.${60 + i}`));
  expect(passedOver).toBe(0);
});

it('goes on with a topic that was made anew', async () => {
  append(0, 1_000);
  follow();
  await until(() => shown.includes('0.999'));
  partitions[0] = [];
  await until(() => {
    if (partitions[0]!.length < 500) append(0, 1);
    return shown.some((one) => /^0\.\d{1,2}$/.test(one));
  });
});
