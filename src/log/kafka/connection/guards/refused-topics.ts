import type { Kafka } from 'kafkajs';
import { adaptBrokers } from './each-broker';

interface CreatingBroker {
  createTopics(request: object): Promise<unknown>;
  /** The request that `createTopics` sends. */
  lookupRequest(apiKey: number, definition: object): (of: object) => CreateCall;
}

interface CreateCall {
  readonly request: object;
  readonly response: {
    decode(payload: Buffer): Promise<Created>;
    /** @throws when a topic was refused */
    parse(decoded: Created): Promise<unknown>;
  };
}

interface Created {
  readonly topicErrors: readonly { readonly topic: string; readonly errorMessage?: string | null }[];
}

/**
 * Keeps the brokers' own reason for a topic that they do not create. kafkajs reads it and throws it away, and its own text for a code,
 * such as "Request parameters do not satisfy the configured policy", tells nobody which policy.
 */
export function keepReasons(kafka: Kafka): Kafka {
  return adaptBrokers(kafka, (broker: CreatingBroker) => {
    const create = broker.createTopics;
    const telling = Object.create(broker, {
      lookupRequest: {
        value: (apiKey: number, definition: object) => {
          const call = broker.lookupRequest(apiKey, definition);
          return (of: object) => withReasons(call(of));
        },
      },
    }) as CreatingBroker;
    broker.createTopics = (request) => create.call(telling, request);
  });
}

function withReasons({ request, response }: CreateCall): CreateCall {
  return {
    request,
    response: {
      decode: (payload) => response.decode(payload),
      parse: (decoded) =>
        response
          .parse(decoded)
          .catch((error: { errors?: readonly { topic?: string; message: string }[] }) => {
            for (const one of error.errors ?? []) {
              const told = decoded.topicErrors.find(({ topic }) => topic === one.topic)?.errorMessage;
              if (told) one.message = told;
            }
            throw error;
          }),
    },
  };
}
