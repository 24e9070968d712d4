import { type Kafka, KafkaJSConnectionError } from 'kafkajs';
import type { ApiCall, Broker } from '../cluster';

interface MadeCluster {
  readonly brokerPool: { createBroker(options: unknown): Broker };
}

const CREATE_CLUSTER = 'private:Kafka:createCluster';

/**
 * Adapts each broker object that the clients of one `Kafka` make. Clients of other `Kafka` objects in the process, such as those of an
 * application that uses kafkajs itself, stay as they are.
 * @param adapt is given the broker and the cluster that it belongs to
 */
export function adaptBrokers(kafka: Kafka, adapt: (broker: Broker, cluster: object) => void): Kafka {
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
      adapt(broker, cluster);
      return broker;
    };
    return cluster;
  };
  return kafka;
}

/**
 * The broker, except for the way it takes answers.
 * @param take is given an answer, which it may change, and what kafkajs makes of it
 */
export function taking<Answer extends object>(
  broker: Broker,
  take: (answer: Answer, parse: () => Promise<unknown>) => Promise<unknown>,
): Broker {
  const lookupRequest: Broker['lookupRequest'] = (apiKey, definition) => {
    const call = broker.lookupRequest<never>(apiKey, definition);
    return (of) => {
      const { request, response } = call(of);
      const parse = (decoded: object) => take(decoded as Answer, () => response.parse(decoded));
      const decode = (payload: Buffer) => response.decode(payload);
      return { request, response: { decode, parse: parse as ApiCall<never>['response']['parse'] } };
    };
  };
  return Object.create(broker, { lookupRequest: { value: lookupRequest } });
}

interface Created {
  readonly topicErrors: readonly { readonly topic: string; readonly errorMessage?: string | null }[];
}

/**
 * Keeps the brokers' own reason for a topic that they do not create. kafkajs reads it and throws it away, and its own text for a code,
 * such as "Request parameters do not satisfy the configured policy", tells nobody which policy.
 */
export function keepReasons(broker: Broker): void {
  const create = broker.createTopics;
  const telling = taking(broker, ({ topicErrors }: Created, parse) =>
    parse().catch((error: { readonly errors?: readonly { readonly topic?: string; message: string }[] }) => {
      for (const one of error.errors ?? []) {
        const told = topicErrors.find(({ topic }) => topic === one.topic)?.errorMessage;
        if (told) one.message = told;
      }
      throw error;
    }),
  );
  broker.createTopics = (request) => create.call(telling, request);
}

/**
 * Fails the requests that a connection leaves unanswered when it ends. kafkajs waits for outstanding answers first, but a request that is
 * sent between that wait and the end gets neither an answer nor a timeout: its caller would wait for ever.
 */
export function failUnanswered({ connectionPool }: Broker): void {
  for (const connection of connectionPool.pool) {
    const disconnect = connection.disconnect.bind(connection);
    connection.disconnect = async () => {
      const ended = await disconnect();
      connection.requestQueue.rejectAll(
        new KafkaJSConnectionError('the connection was closed before its answer'),
      );
      return ended;
    };
  }
}
