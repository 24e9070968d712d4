import { Kafka as Client, logLevel } from 'kafkajs';
import { type Kafka, startKafka } from '../../tools/servers/kafka';
import { startRegistry } from '../../tools/servers/registry';

/** Where the scenario publishes to. */
export interface Servers {
  readonly brokers: string;
  readonly registryUrl: string;
  /** Null when the servers are not ours. */
  readonly own: Kafka | null;
  /** Stops the servers that were started. On other servers it removes the topics and groups with the prefix. */
  stop(prefix: string): Promise<void>;
}

/** Those of KAFKA_BROKERS and SCHEMA_REGISTRY_URL, else a pair that is started. */
export async function startServers(): Promise<Servers> {
  const { KAFKA_BROKERS: brokers, SCHEMA_REGISTRY_URL: registryUrl } = process.env;
  if (brokers && registryUrl) {
    const stop = (prefix: string) => removeTraces(brokers, registryUrl, prefix);
    return { brokers, registryUrl, own: null, stop };
  }
  if (brokers || registryUrl) {
    const set = brokers ? 'KAFKA_BROKERS' : 'SCHEMA_REGISTRY_URL';
    throw new Error(`Only ${set} is set: set both, or none of them.`);
  }
  const [kafka, registry] = await Promise.allSettled([startKafka(), startRegistry()]);
  const stop = async () => {
    const started = [kafka, registry].map((one) =>
      one.status === 'fulfilled' ? one.value.stop() : undefined,
    );
    await Promise.all(started);
  };
  if (kafka.status === 'rejected' || registry.status === 'rejected') {
    await stop();
    throw kafka.status === 'rejected' ? kafka.reason : (registry as PromiseRejectedResult).reason;
  }
  return { brokers: kafka.value.bootstrap, registryUrl: registry.value.url, own: kafka.value, stop };
}

async function removeTraces(brokers: string, registryUrl: string, prefix: string): Promise<void> {
  const admin = client(brokers).admin();
  await admin.connect();
  try {
    const topics = (await admin.listTopics()).filter((name) => name.startsWith(prefix));
    await admin.deleteTopics({ topics });
    const groups = (await admin.listGroups()).groups.map(({ groupId }) => groupId);
    // A group of which a member was killed is not empty yet: it ends by itself.
    await admin.deleteGroups(groups.filter((id) => id.includes(prefix))).catch(() => undefined);
  } finally {
    await admin.disconnect();
  }
  const subjects = (await (await fetch(`${registryUrl}/subjects`)).json()) as string[];
  for (const subject of subjects.filter((name) => name.startsWith(prefix)))
    await fetch(`${registryUrl}/subjects/${encodeURIComponent(subject)}`, { method: 'DELETE' });
}

export function client(brokers: string): Client {
  return new Client({ brokers: brokers.split(','), logLevel: logLevel.NOTHING });
}
