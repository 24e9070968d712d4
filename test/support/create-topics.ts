import { type Admin, ConfigResourceTypes, type ITopicConfig } from 'kafkajs';
import { until } from './until';

/**
 * Creates topics, and waits until all their partitions can be written and read. kafkajs's own wait fails at once where a broker has
 * not heard of its new partition yet, which on a slow machine is a matter of luck.
 * @returns false where there was one of the name
 */
export async function createTopics(admin: Admin, topics: readonly ITopicConfig[]): Promise<boolean> {
  const isNew = await admin.createTopics({ topics: [...topics], waitForLeaders: false });
  await until(() => areThere(admin, topics));
  return isNew;
}

async function areThere(admin: Admin, topics: readonly ITopicConfig[]): Promise<boolean> {
  try {
    for (const { topic } of topics) await admin.fetchTopicOffsets(topic);
    return true;
  } catch {
    return false;
  }
}

/** The settings of a topic, including the brokers' defaults. */
export async function topicSettings(admin: Admin, name: string): Promise<Record<string, string>> {
  const resource = { type: ConfigResourceTypes.TOPIC, name };
  const { resources } = await admin.describeConfigs({ resources: [resource], includeSynonyms: false });
  const entries = resources.flatMap(({ configEntries }) => configEntries);
  return Object.fromEntries(entries.map(({ configName, configValue }) => [configName, configValue]));
}
