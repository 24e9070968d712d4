import { once } from 'node:events';
import { connect } from 'node:net';
import { ConfigResourceTypes, type Kafka } from 'kafkajs';
import { unlessLate } from '../../../async/wait';
import { networkReason } from '../../../net/network-reason';
import type { CommandTarget } from '../connection/admin-commands';
import { addressOf } from '../connection/bootstrap';
import { type Cluster, drop, knownLeader, readingCluster } from '../connection/cluster';
import {
  copiesRemedy,
  forbidden,
  isForbidden,
  isRefusedProducer,
  kafkaFailure,
} from '../connection/kafka-failure';
import { connectProducer, type TransactionalProducer } from '../producer/producer';
import { fetchBatches } from '../protocol/fetch';
import { askEach, configOf, shapeOf, type TopicDeps, withAdmin } from './topic-admin';

/**
 * The brokers of the cluster, at the addresses that they give their clients.
 * @returns `unreachable`: why it cannot be reached from here; null when it can
 * @throws HighwaterError KAFKA_UNREACHABLE, KAFKA_UNAUTHENTICATED, LOG_FAILED
 */
export function examineBrokers(deps: TopicDeps) {
  return withAdmin(deps, async ({ admin, signal }) => {
    const { brokers } = await admin.describeCluster().catch((error) => {
      throw kafkaFailure(error, 'connecting to the brokers');
    });
    return Promise.all(
      brokers.map(async ({ nodeId, host, port }) => ({
        id: nodeId,
        address: addressOf(host, port),
        unreachable: await whyUnreachable(host, port, signal),
      })),
    );
  });
}

/** A topic of Kafka's own that the brokers cannot make. */
export interface LackingCopies {
  readonly of: 'group' | 'transactions';
  /** For people: `offsets.topic.replication.factor is 3, and the cluster has 1 broker`. */
  readonly found: string;
  readonly remedy: string;
}

/**
 * The topics that keep groups and transactions are made when the first group or transaction asks for them. With Kafka's defaults that
 * takes three brokers; one or two never answer where a coordinator is.
 * @returns none too if this user may not see the settings of brokers
 */
export function examineCopies(deps: TopicDeps): Promise<LackingCopies[]> {
  return withAdmin(deps, async ({ admin }) => {
    try {
      const { brokers } = await admin.describeCluster();
      const found = await configOf(admin, ConfigResourceTypes.BROKER, String(brokers[0]?.nodeId));
      const lacking = await Promise.all(
        ownTopics.map(async ({ of, topic, settings }) => {
          const high = settings.filter((setting) => Number(found.get(setting)) > brokers.length);
          if (high.length === 0 || (await shapeOf(admin, topic)) !== null) return [];
          const are = high.map((setting) => `${setting} is ${found.get(setting)}`).join(' and ');
          const remedy = copiesRemedy(brokers.length, high.join(' and '));
          return [{ of, found: `${are}, so ${topic} cannot be made`, remedy }];
        }),
      );
      return lacking.flat();
    } catch (error) {
      if (isForbidden(error)) return [];
      throw kafkaFailure(error, 'reading the settings of the brokers');
    }
  });
}

const ownTopics = [
  {
    of: 'group',
    topic: '__consumer_offsets',
    settings: ['offsets.topic.replication.factor', 'min.insync.replicas'],
  },
  {
    of: 'transactions',
    topic: '__transaction_state',
    settings: ['transaction.state.log.replication.factor', 'transaction.state.log.min.isr'],
  },
] as const;

const connectMs = 5_000;

async function whyUnreachable(host: string, port: number, signal: AbortSignal): Promise<string | null> {
  const socket = connect({ host, port });
  const late = new Error(`no answer within ${connectMs / 1000} s`);
  try {
    await unlessLate(once(socket, 'connect'), connectMs, signal, () => late);
    return null;
  } catch (error) {
    signal.throwIfAborted();
    return error === late ? late.message : networkReason(error);
  } finally {
    socket.destroy();
  }
}

/** Transactions of one id, and the topics that they write to. */
export interface Writing {
  readonly kafka: Kafka;
  readonly transactionalId: string;
  /** They exist. */
  readonly topics: readonly string[];
  readonly cluster: CommandTarget;
  /** Own clock, in ms since 1970. */
  readonly now?: () => number;
}

/**
 * Begins a transaction over all topics of an installation and aborts it. No publisher is fenced: its id has a colon more, and neither
 * feeds nor prefixes contain colons.
 * @returns as `assertWritable`
 * @throws HighwaterError KAFKA_FORBIDDEN and others of Kafka
 */
export async function examineTransactions(
  examine: Omit<Writing, 'transactionalId'> & { readonly appId: string; readonly topicPrefix: string },
): Promise<number | null> {
  const transactionalId = `${examine.appId}:${examine.topicPrefix}:doctor`;
  const ask = () => assertWritable('beginning a transaction', { ...examine, transactionalId });
  return ask().catch((error: Error) => {
    // Another process examines at the same time.
    if (!isRefusedProducer(error.cause)) throw error;
    return ask();
  });
}

/**
 * Asks the brokers whether transactions under an id may write to topics. Fences the last producer of that id.
 * @returns how far the own clock is ahead of that of the transaction's coordinator, in ms; null: not told
 * @throws HighwaterError KAFKA_FORBIDDEN that names the id or every topic; KAFKA_UNREACHABLE, LOG_FAILED
 */
export async function assertWritable(doing: string, writing: Writing): Promise<number | null> {
  const { kafka, transactionalId, topics, cluster, now = Date.now } = writing;
  let producer: TransactionalProducer | null = null;
  try {
    const { signal } = new AbortController();
    producer = await connectProducer(readingCluster(kafka), transactionalId, [], signal);
    const { names, aheadMs } = await unwritableTopics(producer, topics, now);
    if (names.length > 0) throw forbidden(doing, { operation: 'WRITE', resource: 'topic', names }, cluster);
    return aheadMs;
  } catch (error) {
    throw kafkaFailure(error, doing, { operation: 'WRITE', topics, transactionalId, cluster });
  } finally {
    if (producer !== null) drop(producer);
  }
}

/**
 * Asserts that this user may read topics.
 * @param cluster that knows them
 * @throws HighwaterError KAFKA_FORBIDDEN that names every topic; errors of kafkajs
 */
export async function assertReadable(
  cluster: Cluster,
  topics: readonly string[],
  doing: string,
  target: CommandTarget,
): Promise<void> {
  const fetch = async (topic: string): Promise<void> => {
    const nodeId = knownLeader(cluster, { topic, partition: 0 });
    // A leader that is missing says nothing of permissions, nor does an offset that is there no more.
    if (nodeId === undefined) return;
    const broker = await cluster.findBroker({ nodeId });
    const partitions = [{ partition: 0, fetchOffset: '0', maxBytes: 1 }];
    const request = { isolationLevel: 1, maxWaitTime: 0, minBytes: 0, maxBytes: 1 } as const;
    await fetchBatches(broker, { ...request, topics: [{ topic, partitions }] }).catch((error: unknown) => {
      if (isForbidden(error)) throw error;
    });
  };
  await askEach(topics, fetch, doing, 'READ', target);
}

/**
 * The topics that a producer may not write to. Brokers refuse when partitions are added to a transaction, without naming the topic,
 * so each topic is added on its own, in a transaction that is aborted. No record is sent: each writable topic keeps only the marker
 * of the abort, which no reader is shown.
 */
async function unwritableTopics(
  producer: TransactionalProducer,
  topics: readonly string[],
  now: () => number,
): Promise<{ readonly names: readonly string[]; readonly aheadMs: number | null }> {
  const names: string[] = [];
  let aheadMs: number | null = null;
  let isOpen = false;
  try {
    for (const topic of topics) {
      try {
        const asked = now();
        await producer.begin([{ topic, partition: 0 }]);
        if (!isOpen) {
          isOpen = true;
          const [answered, began] = [now(), await producer.beganAt().catch(() => null)];
          // It began in between, so this much is sure.
          if (began !== null) aheadMs = Math.max(asked - began, 0) || Math.min(answered - began, 0);
        }
      } catch (error) {
        if (!isForbidden(error)) throw error;
        names.push(topic);
      }
    }
  } finally {
    if (isOpen) await producer.abort();
  }
  return { names, aheadMs };
}
