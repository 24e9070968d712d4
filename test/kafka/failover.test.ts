import path from 'node:path';
import { type Blow, runFailovers } from '../faults/failover-run';
import { type KafkaPublisherLog, kafkaPublisherLog } from '../faults/kafka-publisher-log';
import { describeVerdict } from '../support/judge/verdict';
import { type KafkaBehindProxies, startKafkaBehindProxies } from '../support/proxied-kafka';
import { sharedServers, uniquePrefix } from '../support/servers';
import { tempFolder } from '../support/temp-folder';

const folder = tempFolder();
const prefix = uniquePrefix();
const sessionTimeoutMs = 2_000;
let kafka: KafkaBehindProxies;
let log: KafkaPublisherLog;
let registryUrl: string;

beforeAll(async () => {
  ({ registryUrl } = await sharedServers());
  kafka = await startKafkaBehindProxies(2);
  const { direct } = kafka;
  log = await kafkaPublisherLog({ brokers: direct, direct, registryUrl, prefix, proxy: null });
});
afterAll(async () => {
  await log?.stop();
  await kafka?.stop();
});

it('when an instance is killed, stopped, frozen or cut off, another one goes on with its feeds, and nothing is lost or twice', async () => {
  const blows: Blow[] = ['kill', 'freeze', 'cut', 'stop'];
  const { failovers, verdict, thefts, exitCodes } = await runFailovers({
    seed: 1,
    kafka,
    log,
    registryUrl,
    prefix,
    sessionTimeoutMs,
    blows,
    size: { records: { insights: 200, analysts: 100, ipos: 300 }, everyMs: 20 },
    folder: path.join(folder(), 'run'),
  });
  expect(describeVerdict(verdict)).toBe('nothing to object to');
  expect(failovers.map(({ blow }) => blow)).toEqual(blows);
  expect(failovers.every(({ feeds }) => feeds.length > 0)).toBe(true);
  // An instance that comes back leaves its feeds to their new owners.
  expect(thefts).toStrictEqual([]);
  expect(exitCodes).toEqual([0, 0, 0]);
});
