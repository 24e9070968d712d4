import type { Kafka } from 'kafkajs';
import { type AskingBroker, adaptBrokers, taking } from './each-broker';

interface CreatingBroker extends AskingBroker<Created> {
  createTopics(request: object): Promise<unknown>;
}

interface Created {
  readonly topicErrors: readonly { readonly topic: string; readonly errorMessage?: string | null }[];
}

interface Refusals {
  readonly errors?: readonly { readonly topic?: string; message: string }[];
}

/**
 * Keeps the brokers' own reason for a topic that they do not create. kafkajs reads it and throws it away, and its own text for a code,
 * such as "Request parameters do not satisfy the configured policy", tells nobody which policy.
 */
export function keepReasons(kafka: Kafka): Kafka {
  return adaptBrokers(kafka, (broker: CreatingBroker) => {
    const create = broker.createTopics;
    const telling = taking(broker, ({ topicErrors }: Created, parse) =>
      parse().catch((error: Refusals) => {
        for (const one of error.errors ?? []) {
          const told = topicErrors.find(({ topic }) => topic === one.topic)?.errorMessage;
          if (told) one.message = told;
        }
        throw error;
      }),
    );
    broker.createTopics = (request) => create.call(telling, request);
  });
}
