import { KafkaJSGroupCoordinatorNotFound, type TopicPartition } from 'kafkajs';
import { type Broker, byTopic, type Cluster, type ProducerIdentity } from '../connection/cluster';
import { isForbidden, noteBrokers, protocolType } from '../connection/kafka-failure';

/**
 * The requests of a transactional id to the broker that keeps its transactions, which is remembered until it says that it does not,
 * or cannot be reached. They throw errors of kafkajs.
 */
export class TransactionCoordinator {
  private known: string | null = null;

  constructor(
    private readonly cluster: Cluster,
    private readonly transactionalId: string,
  ) {}

  /** A new epoch. It ends the transaction of the earlier epoch, which the brokers refuse from now on. */
  async init(transactionTimeout: number): Promise<ProducerIdentity> {
    const { transactionalId } = this;
    const given = await this.ask((broker) => broker.initProducerId({ transactionalId, transactionTimeout }));
    return { ...given, transactionalId };
  }

  add(identity: ProducerIdentity, places: readonly TopicPartition[]): Promise<unknown> {
    const topics = byTopic(places, ({ partition }) => partition);
    return this.ask((broker) => broker.addPartitionsToTxn({ ...identity, topics }));
  }

  end(identity: ProducerIdentity, transactionResult: boolean): Promise<unknown> {
    return this.ask((broker) => broker.endTxn({ ...identity, transactionResult }));
  }

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
