import { KafkaJSGroupCoordinatorNotFound } from 'kafkajs';
import type { Broker, Cluster } from '../connection/cluster';
import { isForbidden, noteBrokers, protocolType } from '../connection/kafka-failure';

/** The broker that keeps the transactions of an id. Remembered until it says that it does not, or cannot be reached. */
export class TransactionCoordinator {
  private known: string | null = null;

  constructor(
    private readonly cluster: Cluster,
    private readonly transactionalId: string,
  ) {}

  /** @throws errors of kafkajs and of the question */
  async ask<T>(question: (coordinator: Broker) => Promise<T>): Promise<T> {
    try {
      const coordinator = await this.find();
      this.known = coordinator.nodeId;
      return await question(coordinator);
    } catch (error) {
      // Any other answer is that of the coordinator.
      if (protocolType(error) === null || isNotCoordinator(error)) this.known = null;
      throw error;
    }
  }

  private async find(): Promise<Broker> {
    const { cluster, known } = this;
    // If that broker cannot be reached, another broker has its place, or is going to.
    const broker = known === null ? null : await cluster.findBroker({ nodeId: known }).catch(() => null);
    if (broker !== null) return broker;
    const wanted = { groupId: this.transactionalId, coordinatorType: 1 } as const;
    try {
      return await cluster.findGroupCoordinator(wanted);
    } catch (error) {
      if (!(error instanceof KafkaJSGroupCoordinatorNotFound)) throw error;
      // kafkajs drops the brokers' message when they refuse to name a coordinator.
      const asked = cluster.brokerPool.findConnectedBroker();
      const refusal = await asked.then((one) => one.findGroupCoordinator(wanted)).catch((one) => one);
      throw isForbidden(refusal) ? refusal : noteBrokers(error, refusal, cluster.getNodeIds().length);
    }
  }
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
