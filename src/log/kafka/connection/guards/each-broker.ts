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

/** A broker of kafkajs, as far as it says how a request is sent and its answer taken. */
export interface AskingBroker<Answer> {
  lookupRequest(
    apiKey: number,
    definition: object,
  ): (of: object) => {
    readonly request: object;
    readonly response: {
      decode(payload: Buffer): Promise<Answer>;
      /** @throws when the answer has an error anywhere */
      parse(decoded: Answer): Promise<unknown>;
    };
  };
}

/**
 * The broker, except for the way it takes answers.
 * @param take is given an answer, which it may change, and what kafkajs makes of it
 */
export function taking<Answer, Broker extends AskingBroker<Answer>>(
  broker: Broker,
  take: (answer: Answer, parse: () => Promise<unknown>) => Promise<unknown>,
): Broker {
  const lookupRequest: AskingBroker<Answer>['lookupRequest'] = (apiKey, definition) => {
    const call = broker.lookupRequest(apiKey, definition);
    return (of) => {
      const { request, response } = call(of);
      const parse = (decoded: Answer) => take(decoded, () => response.parse(decoded));
      return { request, response: { decode: (payload) => response.decode(payload), parse } };
    };
  };
  return Object.create(broker, { lookupRequest: { value: lookupRequest } });
}
