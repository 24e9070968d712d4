import type { CommandTarget } from '../connection/admin-commands';
import { type Cluster, knownLeader } from '../connection/cluster';
import { forbidden, isForbidden } from '../connection/kafka-failure';
import { fetchBatches } from '../protocol/fetch';

/**
 * Whether topics may be read, asked one by one: of several at once, brokers do not say which they refuse.
 * @param cluster that knows them
 * @throws HighwaterError KAFKA_FORBIDDEN that names every topic; other errors of kafkajs as they are
 */
export async function assertReadable(
  cluster: Cluster,
  topics: readonly string[],
  doing: string,
  target: CommandTarget,
): Promise<void> {
  const refused = await Promise.all(topics.map((topic) => refusal(cluster, topic)));
  const names = topics.filter((_, i) => refused[i] !== null);
  if (names.length === 0) return;
  const cause = refused.find((one) => one !== null);
  throw forbidden(doing, { operation: 'READ', resource: 'topic', names }, target, cause);
}

/** The error of the brokers that refuse it; null if they allow it. */
async function refusal(cluster: Cluster, topic: string): Promise<unknown> {
  const nodeId = knownLeader(cluster, { topic, partition: 0 });
  // A leader that is missing says nothing of permissions, nor does an offset that is there no more.
  if (nodeId === undefined) return null;
  const broker = await cluster.findBroker({ nodeId });
  try {
    await fetchBatches(broker, {
      isolationLevel: 1,
      maxWaitTime: 0,
      minBytes: 0,
      maxBytes: 1,
      topics: [{ topic, partitions: [{ partition: 0, fetchOffset: '0', maxBytes: 1 }] }],
    });
    return null;
  } catch (error) {
    return isForbidden(error) ? error : null;
  }
}
