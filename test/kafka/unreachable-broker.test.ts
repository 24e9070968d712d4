import type { CommitLog, LogRecord } from '../../src/log/commit-log';
import type { ConsumerLog } from '../../src/log/consumer-log';
import { kafkaWorld } from '../support/kafka-world';
import { startProxiedBrokers } from '../support/proxied-brokers';
import { quietLogger } from '../support/source';
import { until } from '../support/until';

/** Each of three brokers leads one partition of `events`. Readers cannot reach the third broker, which is well. */
const kafka = kafkaWorld(startProxiedBrokers);
let log: CommitLog;
let consumerLog: ConsumerLog;
let warnings: string[];
let stop: AbortController;
const running: Promise<unknown>[] = [];

const events = () => `${kafka.prefix()}events`;
const cut = () => kafka.server().proxies.get(3)!;

beforeEach(async () => {
  const replicas = [
    [1, 2],
    [2, 1],
    [3, 1],
  ];
  const replicaAssignment = replicas.map((ids, partition) => ({ partition, replicas: ids }));
  await kafka.create({ topic: events(), replicaAssignment });
  warnings = [];
  stop = new AbortController();
  const logger = { ...quietLogger(), warn: (message: string) => void warnings.push(message) };
  const options = { brokers: kafka.server().proxied, logger };
  log = kafka.log(options);
  consumerLog = kafka.consumerLog(options);
});
afterEach(async () => {
  cut().thaw();
  stop.abort();
  await Promise.all([log.close(), consumerLog.close()]);
  await Promise.all(running.splice(0));
});

/** One record in each partition, past the proxies. */
const send = (value: string) =>
  kafka.send(
    events(),
    [0, 1, 2].map((partition) => ({ key: `${partition}`, value, partition })),
  );

/** Records that a reader saw, as `key value`. */
function gather(records: AsyncIterable<LogRecord>): string[] {
  const found: string[] = [];
  const reading = (async () => {
    for await (const { key, value } of records) found.push(`${key} ${value}`);
  })();
  running.push(reading);
  return found;
}

const tail = () => gather(log.read([events()], { fromBeginning: true, follow: true, signal: stop.signal }));
const follow = () => gather(consumerLog.follow(events(), new Map(), stop.signal));
const reachable = (...values: string[]) => values.flatMap((value) => [`0 ${value}`, `1 ${value}`]).sort();
const all = (...values: string[]) => [...reachable(...values), ...values.map((value) => `2 ${value}`)].sort();
const warned = () => warnings.filter((message) => message.includes('Partition 2'));

it('readers read the partitions of the other brokers, warn once each, and lose and repeat nothing', async () => {
  const early = [tail(), follow()];
  await send('a');
  await until(() => early.every(({ length }) => length === 3));

  cut().freeze();
  await send('b');
  const late = [tail(), follow()];
  await until(() => early.every(({ length }) => length === 5));
  await until(() => late.every(({ length }) => length === 4));
  await until(() => warned().length >= 3);
  await send('c');
  await until(() => early.every(({ length }) => length === 7));
  await until(() => late.every(({ length }) => length === 6));
  for (const found of early) expect([...found].sort()).toEqual([...all('a'), ...reachable('b', 'c')].sort());
  for (const found of late) expect([...found].sort()).toEqual(reachable('a', 'b', 'c'));
  // The readers of one log share a warning.
  expect(warned()).toHaveLength(3);

  cut().thaw();
  await send('d');
  const whole = all('a', 'b', 'c', 'd');
  await until(() => [...early, ...late].every(({ length }) => length >= 12));
  for (const found of [...early, ...late]) expect([...found].sort()).toEqual(whole);
}, 300_000);
