import type { Kafka } from 'kafkajs';

interface MadeCluster {
  readonly brokerPool: { createBroker(options: unknown): object };
}

const CREATE_CLUSTER = 'private:Kafka:createCluster';

/**
 * Adapts each broker object that the clients of one `Kafka` make. Clients of other `Kafka` objects in the process, such as those of an
 * application that uses kafkajs itself, stay as they are.
 * @param adapt is given the broker and the cluster that it belongs to
 */
export function adaptBrokers<Broker extends object>(
  kafka: Kafka,
  adapt: (broker: Broker, cluster: object) => void,
): Kafka {
  const clusters = kafka as unknown as Record<symbol, (...given: unknown[]) => MadeCluster>;
  const made = Object.getOwnPropertySymbols(kafka).find(({ description }) => description === CREATE_CLUSTER);
  if (made === undefined) throw new Error('kafkajs has no place where it makes a cluster');
  const create = clusters[made]!;
  clusters[made] = (...given) => {
    const cluster = create(...given);
    const { brokerPool } = cluster;
    const createBroker = brokerPool.createBroker;
    brokerPool.createBroker = (options) => {
      const broker = createBroker(options);
      adapt(broker as Broker, cluster);
      return broker;
    };
    return cluster;
  };
  return kafka;
}
