import { Kafka, logLevel } from 'kafkajs';
import { openKafkaLog } from '../../src/log/kafka/kafka-log';
import { commitLogContract } from '../contract/commit-log';
import { sharedServers, uniquePrefix } from '../support/servers';
import { quietLogger } from '../support/source';
import { until } from '../support/until';

// They take their time to start on a busy machine.
beforeAll(async () => {
  await sharedServers();
});

const limit = 'max.message.bytes';
/** Kafka's protocol: a setting of the topic itself. */
const ofTopic = 1;

commitLogContract(
  'Kafka',
  async () => {
    const { brokers } = await sharedServers();
    const prefix = uniquePrefix();
    const kafka = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING });
    const admin = kafka.admin();
    await admin.connect();

    const own = async () => (await admin.listTopics()).filter((name) => name.startsWith(prefix));

    /** Below the size of a source offset and above that of a fence, so that the broker refuses a batch at its last record. */
    async function limitSourceOffsets(bytes: number): Promise<void> {
      const resources = (await own())
        .filter((name) => name.endsWith('.source-offset'))
        .map((name) => ({ type: 2, name }));
      const before = await admin.describeConfigs({ includeSynonyms: false, resources });
      // A setting that is not repeated falls back to the brokers' default.
      const changed = before.resources.map(({ resourceName: name, configEntries }) => ({
        type: 2,
        name,
        configEntries: [
          ...configEntries
            .filter(({ configSource, configName }) => configSource === ofTopic && configName !== limit)
            .map(({ configName, configValue }) => ({ name: configName, value: configValue })),
          { name: limit, value: String(bytes) },
        ],
      }));
      await admin.alterConfigs({ validateOnly: false, resources: changed });
      await until(async () => {
        const { resources: described } = await admin.describeConfigs({ includeSynonyms: false, resources });
        return described.every(({ configEntries: entries }) =>
          entries.some(
            ({ configName, configValue }) => configName === limit && configValue === String(bytes),
          ),
        );
      });
    }

    return {
      prefix,
      open: async () =>
        openKafkaLog({
          kafka: { brokers: brokers.split(','), ssl: null, sasl: null, compression: 'none' },
          appId: 'test',
          topicPrefix: prefix,
          logger: quietLogger(),
        }),
      breakCommits: () => limitSourceOffsets(400),
      mendCommits: () => limitSourceOffsets(1_000_000),
      secondInstance: 'fences the first',
      async close() {
        await admin.deleteTopics({ topics: await own() });
        await admin.disconnect();
      },
    };
  },
  { modelRuns: 5 },
);
