import { commitLogContract } from '../contract/commit-log';
import { kafkaWorld, publisherLog } from '../support/kafka-world';
import { until } from '../support/until';

const kafka = kafkaWorld();

const limit = 'max.message.bytes';
/** Kafka's protocol: a setting of the topic itself. */
const ofTopic = 1;

commitLogContract(
  'Kafka',
  async () => {
    const [prefix, admin] = [kafka.prefix(), await kafka.admin()];

    const own = async () => (await admin.listTopics()).filter((name) => name.startsWith(prefix));

    /**
     * Below the size of a source offset and above that of a fence, so that the broker refuses a batch at its last record. A broker shows a
     * setting before it applies it, and applies it before it shows the next one.
     */
    async function limitSourceOffsets(bytes: number): Promise<void> {
      for (const limited of [bytes, bytes + 1]) await setLimit(limited);
    }

    async function setLimit(bytes: number): Promise<void> {
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
      open: async () => publisherLog(kafka.brokers(), prefix),
      breakCommits: () => limitSourceOffsets(400),
      mendCommits: () => limitSourceOffsets(1_000_000),
      secondInstance: 'fences the first',
      close: async () => {},
    };
  },
  { modelRuns: 5 },
);
