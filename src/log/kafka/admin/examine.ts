import { once } from 'node:events';
import { connect } from 'node:net';
import type { Kafka } from 'kafkajs';
import { unlessLate } from '../../../async/wait';
import { networkReason } from '../../../net/network-reason';
import type { CommandTarget } from '../connection/admin-commands';
import { isRefusedProducer, kafkaFailure } from '../connection/kafka-failure';
import { assertWritable } from './write-access';

export interface BrokerReport {
  readonly id: number;
  /** As the brokers tell their clients, who connect there. */
  readonly address: string;
  /** Why it cannot be reached from here; null when it can. */
  readonly unreachable: string | null;
}

/** The brokers of the cluster. @throws HighwaterError KAFKA_UNREACHABLE, KAFKA_UNAUTHENTICATED, LOG_FAILED */
export async function examineBrokers(kafka: Kafka, signal: AbortSignal): Promise<BrokerReport[]> {
  const admin = kafka.admin();
  try {
    await admin.connect();
    const { brokers } = await admin.describeCluster();
    return await Promise.all(
      brokers.map(async ({ nodeId, host, port }) => ({
        id: nodeId,
        address: `${host}:${port}`,
        unreachable: await whyUnreachable(host, port, signal),
      })),
    );
  } catch (error) {
    throw kafkaFailure(error, 'connecting to the brokers');
  } finally {
    admin.disconnect().catch(() => undefined);
  }
}

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

export interface ExamineTransactions {
  readonly kafka: Kafka;
  readonly cluster: CommandTarget;
  readonly appId: string;
  readonly topicPrefix: string;
  /** Of all feeds, those that exist. */
  readonly topics: readonly string[];
}

/**
 * Begins a transaction over all topics and aborts it, under an id that no publisher has, so that none is fenced. Feeds and
 * prefixes have no colon.
 * @throws HighwaterError KAFKA_FORBIDDEN and others of Kafka
 */
export async function examineTransactions(examine: ExamineTransactions): Promise<void> {
  const { appId, topicPrefix } = examine;
  const writing = { ...examine, transactionalId: `${appId}:${topicPrefix}:doctor` };
  const doing = 'beginning a transaction';
  try {
    await assertWritable(doing, writing);
  } catch (error) {
    // Somebody else examines at the same time.
    if (!isRefusedProducer((error as Error).cause)) throw error;
    await assertWritable(doing, writing);
  }
}
