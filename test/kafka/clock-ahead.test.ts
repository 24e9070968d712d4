import { examineTransactions } from '../../src/log/kafka/admin/examine';
import { kafkaClient } from '../../src/log/kafka/connection/client';
import { appender } from '../../src/log/kafka/shared-topics';
import { createTopics } from '../support/create-topics';
import { plainKafka } from '../support/kafka-world';
import { sharedServers, uniquePrefix } from '../support/servers';
import { quietLogger } from '../support/source';

it('a clock two hours ahead is named with the limit of the brokers', async () => {
  const { brokers } = await sharedServers();
  const cluster = plainKafka(brokers);
  const { signal } = new AbortController();
  const kafka = kafkaClient(cluster, 'test', quietLogger());
  const writer = appender(kafka, cluster, signal);
  const spec = {
    name: `${uniquePrefix()}commands`,
    partitions: 1,
    cleanup: 'delete',
    retentionMs: 86_400_000,
  } as const;
  const at = (timestamp: number) =>
    writer.append(
      spec,
      [{ topic: spec.name, key: 'k', value: Buffer.from('v'), headers: {}, timestamp }],
      signal,
    );
  try {
    await at(Date.now());
    await expect(at(Date.now() + 7_200_000)).rejects.toMatchObject({
      code: 'LOG_RECORD_REFUSED',
      message: expect.stringMatching(/INVALID_TIMESTAMP\); the clock of this machine says 20/),
      remedy: expect.stringMatching(/NTP.*message\.timestamp\.after\.max\.ms \(1 h by default\)/),
    });
  } finally {
    await writer.close();
  }
}, 90_000);

it.each([2, -2, 0])(
  'doctor measures that the own clock is %i hours ahead of the brokers',
  async (hours) => {
    const { brokers } = await sharedServers();
    const cluster = plainKafka(brokers);
    const kafka = kafkaClient(cluster, 'test', quietLogger());
    const topicPrefix = uniquePrefix();
    const admin = kafka.admin();
    await admin.connect();
    await createTopics(admin, [{ topic: `${topicPrefix}ipos` }]);
    await admin.disconnect();
    const apart = hours * 3_600_000;
    const now = () => Date.now() + apart;
    const examine = { kafka, cluster, appId: 'test', topicPrefix, topics: [`${topicPrefix}ipos`], now };
    const aheadMs = await examineTransactions(examine);
    // The way there and back is not counted.
    expect(Math.abs(aheadMs! / 60_000 - hours * 60)).toBeLessThan(1);
  },
  90_000,
);
