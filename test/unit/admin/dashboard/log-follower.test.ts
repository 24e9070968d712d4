import { followLog } from '../../../../src/admin/dashboard/log-follower';
import type { SchemaRegistry } from '../../../../src/avro/registry';
import { HighwaterError } from '../../../../src/errors';
import type { LogRecord } from '../../../../src/log/commit-log';
import type { ConsumerLog } from '../../../../src/log/consumer-log';
import { testFeed } from '../../../support/feeds';
import { quietLogger } from '../../../support/source';
import { until } from '../../../support/until';

const feed = testFeed('analysts');
let stop: AbortController;
let partitions: LogRecord[][];
let read: number;
let shown: string[];
let passedOver: number;
let opened: boolean[];

/** At the port: a log in memory, with the topic of one feed. */
let failures: unknown[];
const log = {
  async ends(_topic, _at, signal) {
    signal.throwIfAborted();
    return new Map(partitions.map((records, partition) => [partition, records.length]));
  },
  async *follow(_topic, from, signal) {
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    const next = partitions.map((_, partition) => from.get(partition) ?? 0);
    while (!signal.aborted) {
      for (const [partition, records] of partitions.entries()) {
        if (next[partition]! > records.length) throw new HighwaterError('LOG_POSITION_LOST', 'made anew');
        const record = records[next[partition]!];
        if (record === undefined) continue;
        next[partition]!++;
        read++;
        yield record;
      }
      await new Promise(setImmediate);
    }
  },
} as Pick<ConsumerLog, 'ends' | 'follow'> as ConsumerLog;

beforeEach(() => {
  stop = new AbortController();
  partitions = [[], [], []];
  [read, shown, passedOver, opened, failures] = [0, [], 0, [], []];
});
afterEach(() => stop.abort());

/** Of the type `string`, by schema 1. */
function append(partition: number, count: number): void {
  const records = partitions[partition]!;
  for (let i = 0; i < count; i++) {
    const logOffset = records.length;
    const text = Buffer.from(`${partition}.${logOffset}`);
    const value = Buffer.concat([Buffer.from([0, 0, 0, 0, 1, text.length * 2]), text]);
    records.push({ topic: 'analysts', partition, logOffset, key: 'k', value, headers: {}, timestamp: 0 });
  }
}

function follow(): void {
  const registry = { schemaById: async () => 'string' } as unknown as SchemaRegistry;
  const followed = {
    record: (_: unknown, { value }: { value: unknown }) => void shown.push(String(value)),
    passedOver: (_: unknown, count: number) => {
      passedOver += count;
    },
    opened: (expects: boolean) => void opened.push(expects),
  };
  expect(
    followLog([feed], { log, registry, topicPrefix: '', logger: quietLogger() }, followed, stop.signal),
  ).toBe(1);
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
  expect([passedOver, opened]).toEqual([0, [true]]);
});

it('says so when there is nothing to be read yet', async () => {
  follow();
  await until(() => opened.length === 1);
  expect(opened).toEqual([false]);
});

it('passes over a flood unread, counts it, and shows its end', async () => {
  follow();
  await until(() => opened.length === 1);
  append(0, 20_000);
  append(1, 10_000);
  await until(() => shown.includes('0.19999') && shown.includes('1.9999'));
  append(2, 1);
  await until(() => shown.includes('2.0'));
  expect(shown.length + passedOver).toBe(30_001);
  expect(read).toBeLessThan(1_000);
});

it('goes on at the end where its place is not kept any more, and after whatever fails', async () => {
  append(0, 100);
  failures = [new HighwaterError('LOG_POSITION_LOST', 'gone'), new Error('no broker')];
  follow();
  await until(() => failures.length === 0);
  append(0, 1);
  await until(() => shown.includes('0.100'));
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
