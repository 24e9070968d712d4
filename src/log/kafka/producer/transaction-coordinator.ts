import { KafkaJSGroupCoordinatorNotFound } from 'kafkajs';
import type { Broker, Cluster } from '../connection/cluster';
import { isForbidden, protocolType } from '../connection/kafka-failure';

/** The broker that keeps the transactions of an id. Remembered until it says that it is not it, or cannot be reached. */
export interface TransactionCoordinator {
  /** @throws what kafkajs throws; what the question throws */
  ask<T>(question: (coordinator: Broker) => Promise<T>): Promise<T>;
}

export function transactionCoordinator(cluster: Cluster, transactionalId: string): TransactionCoordinator {
  let known: string | null = null;

  async function find(): Promise<Broker> {
    // Where that one cannot be reached, another one has its place, or is going to.
    const broker = known === null ? null : await cluster.findBroker({ nodeId: known }).catch(() => null);
    return broker ?? findUnknown();
  }

  async function findUnknown(): Promise<Broker> {
    const wanted = { groupId: transactionalId, coordinatorType: 1 } as const;
    try {
      return await cluster.findGroupCoordinator(wanted);
    } catch (error) {
      if (!(error instanceof KafkaJSGroupCoordinatorNotFound)) throw error;
      // kafkajs drops what the brokers say when they refuse to name a coordinator.
      const asked = cluster.brokerPool.findConnectedBroker();
      const refusal = await asked.then((broker) => broker.findGroupCoordinator(wanted)).catch((one) => one);
      throw isForbidden(refusal) ? refusal : error;
    }
  }

  return {
    async ask(question) {
      try {
        const coordinator = await find();
        known = coordinator.nodeId;
        return await question(coordinator);
      } catch (error) {
        // Any other answer is that of the coordinator.
        if (protocolType(error) === null || isNotCoordinator(error)) known = null;
        throw error;
      }
    },
  };
}

/** Another broker is to be asked. Only what does no harm twice: one of these answers also stands for an append that came too late. */
export function isNotCoordinator(error: unknown): boolean {
  return notCoordinator.has(protocolType(error) ?? '');
}

const notCoordinator = new Set([
  'NOT_COORDINATOR_FOR_GROUP',
  'GROUP_COORDINATOR_NOT_AVAILABLE',
  'GROUP_LOAD_IN_PROGRESS',
]);
