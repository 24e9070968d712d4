import { openKafkaConsumerLog } from '../../src/log/kafka/consumer-log';
import { openKafkaLog } from '../../src/log/kafka/kafka-log';
import { feedNames } from '../../src/simulator/endpoints';
import { runBrokerFaults } from '../faults/broker-fault-run';
import { kafkaPublisherLog } from '../faults/kafka-publisher-log';
import { startMember } from '../support/group-members';
import { readAll } from '../support/log-records';
import { type ProxiedBrokers, startProxiedBrokers } from '../support/proxied-brokers';
import { sharedServers, uniquePrefix } from '../support/servers';
import { quietLogger } from '../support/source';
import { until } from '../support/until';
import { expectGood, soakFolder } from './soak';

/**
 * Three brokers go from one version of Kafka to the next, one broker after the other, under two publishers and a consumer
 * group. KAFKA_JARS has the folders of the versions, oldest first, divided by colons. One is fetched by
 * `mvn -f tools/servers/pom.xml -Dkafka.version=3.9.2 -Dservers=FOLDER process-resources`, which makes `FOLDER/kafka`.
 */
const versions = (process.env.KAFKA_JARS ?? '').split(':').filter((folder) => folder !== '');
let jars = versions[0]!;
let brokers: ProxiedBrokers;
const folder = soakFolder(() => brokers?.stop());

beforeAll(async () => {
  if (versions.length < 2) throw new Error('Set KAFKA_JARS to the folders of two versions or more.');
  brokers = await startProxiedBrokers(undefined, () => jars);
}, 180_000);

it('brokers are upgraded one by one: publishers go on, and a consumer group handles every event', async () => {
  const { registryUrl } = await sharedServers();
  const [prefix, { proxied, direct }] = [uniquePrefix(), brokers];
  const log = await kafkaPublisherLog({ brokers: proxied, direct, registryUrl, prefix, proxy: null });
  const kafka = { brokers: direct.split(','), ssl: null, sasl: null, compression: 'none' } as const;
  const options = { kafka, appId: 'desk', topicPrefix: prefix, logger: quietLogger() };
  const topics = feedNames.map((feed) => `${prefix}${feed}`);
  const [consumerLog, reader] = [openKafkaConsumerLog(options), openKafkaLog(options)];
  const member = startMember(consumerLog, { groupId: `${prefix}desk`, topics });
  const upgrades = versions.slice(1);
  jars = upgrades[0]!;
  try {
    const { verdict, exitCodes } = await runBrokerFaults({
      seed: 1,
      brokers,
      registryUrl,
      prefix,
      log,
      folder,
      size: { records: { insights: 300, analysts: 150, ipos: 500 }, everyMs: 40 },
      faults: upgrades.map(() => 'rolling restart' as const),
      onFault({ recoveredMs, pauseMs }) {
        process.stderr.write(`${jars}: back after ${recoveredMs} ms, longest pause ${pauseMs} ms\n`);
        jars = upgrades[upgrades.indexOf(jars) + 1] ?? jars;
      },
    });
    expectGood(verdict, ...exitCodes);

    const published = (await readAll(reader, topics, AbortSignal.timeout(120_000))).map(place);
    const handled = () => new Set(member.handled.map(place));
    await until(() => handled().size >= published.length, 60_000);
    expect([...handled()].sort()).toEqual(published.sort());
    expect(member.failures).toStrictEqual([]);
  } finally {
    await Promise.all([consumerLog.close(), reader.close(), log.stop()]);
  }
}, 900_000);

function place({
  topic,
  partition,
  logOffset,
}: Record<'topic' | 'partition' | 'logOffset', unknown>): string {
  return `${topic}/${partition}/${logOffset}`;
}
