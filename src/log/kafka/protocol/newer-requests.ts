import type { ApiCall, ApiVersion, Broker, Cluster } from '../connection/cluster';
import { Decoder, Encoder } from '../connection/kafkajs-internals';

/**
 * Requests in "flexible" versions of the protocol (KIP-482), which kafkajs does not speak: lengths are variable-length integers, and
 * every structure ends with tagged fields. Only these versions have topic ids (KIP-516).
 */

export const NO_TAGS = 0;
const ID_BYTES = 16;

/** The header of a flexible request ends with tagged fields. kafkajs writes headers without them, so they begin the body. */
export function flexibleBody(): Encoder {
  return new Encoder().writeUVarInt(NO_TAGS);
}

export function writeArray<T>(body: Encoder, values: readonly T[], write: (value: T) => void): void {
  body.writeUVarInt(values.length + 1);
  for (const value of values) write(value);
}

/** @param id as `readId` returns it */
export function writeId(body: Encoder, id: string): void {
  body.writeBufferInternal(Buffer.from(id, 'base64url'));
}

/** As Kafka's tools print it. */
export function readId(answer: Decoder): string {
  return answer.readBytes(ID_BYTES)!.toString('base64url');
}

/** kafkajs's own reader of tags takes their length for one more than it is. */
export function skipTags(answer: Decoder): void {
  for (let tags = answer.readUVarInt(); tags > 0; tags--) {
    answer.readUVarInt();
    answer.forward(answer.readUVarInt());
  }
}

/** Whether the broker speaks this version of a request. */
export function speaks(broker: Broker, { apiKey, apiVersion }: Omit<ApiVersion, 'apiName'>): boolean {
  return (broker.versions?.[apiKey]?.maxVersion ?? 0) >= apiVersion;
}

/**
 * Asks a question whose version kafkajs does not speak.
 * @param read is given the answer behind its header, and need not read to its end
 * @throws what kafkajs throws
 */
function askFlexible<T>(
  broker: Broker,
  api: ApiVersion,
  write: (body: Encoder) => Encoder,
  read: (answer: Decoder) => T,
): Promise<T> {
  return sendFlexible(broker, {
    request: { ...api, encode: async () => write(flexibleBody()).writeUVarInt(NO_TAGS) },
    response: {
      async decode(payload) {
        const answer = new Decoder(payload);
        skipTags(answer);
        return { clientSideThrottleTime: answer.readInt32(), read: read(answer) };
      },
      parse: async (decoded) => (decoded as { readonly read: T }).read,
    },
  });
}

/** @throws what kafkajs throws */
export function sendFlexible<T>(broker: Broker, call: ApiCall<T>): Promise<T> {
  return connectingAgain(broker, () => broker.connectionPool.send(call));
}

/** As kafkajs does: the next caller that asks for this broker connects again if its connection has closed. */
export async function connectingAgain<T>(broker: Broker, send: () => Promise<T>): Promise<T> {
  try {
    return await send();
  } catch (error) {
    if ((error as Error).name === 'KafkaJSConnectionClosedError') await broker.disconnect();
    throw error;
  }
}

/** https://kafka.apache.org/protocol#The_Messages_Metadata: the first version with topic ids, of Kafka 2.8. */
const METADATA = { apiKey: 3, apiName: 'Metadata', apiVersion: 10 };
/** Stands for no id. */
const NO_ID = Buffer.alloc(16).toString('base64url');

/**
 * The ids of topics by their names (KIP-516). A topic that is deleted and created again gets another id.
 * @returns no id from a broker without ids, nor for a topic that does not exist or may not be seen
 * @throws errors of kafkajs
 */
export async function topicIds(cluster: Cluster, topics: readonly string[]) {
  const broker = await cluster.brokerPool.findConnectedBroker();
  if (topics.length === 0 || !speaks(broker, METADATA)) return new Map<string, string>();
  return askFlexible(
    broker,
    METADATA,
    (body) => {
      writeArray(body, topics, (topic) => {
        writeId(body, NO_ID);
        body.writeUVarIntString(topic).writeUVarInt(NO_TAGS);
      });
      const [createsTopics, tellsClusterOperations, tellsTopicOperations] = [false, false, false];
      body.writeBoolean(createsTopics).writeBoolean(tellsClusterOperations);
      return body.writeBoolean(tellsTopicOperations);
    },
    (answer) => {
      answer.readUVarIntArray(() => {
        answer.forward(4);
        answer.readUVarIntString();
        answer.forward(4);
        answer.readUVarIntString();
        skipTags(answer);
      });
      answer.readUVarIntString();
      answer.forward(4);
      const ids = new Map<string, string>();
      answer.readUVarIntArray(() => {
        answer.forward(2);
        const [name, id] = [answer.readUVarIntString(), readId(answer)];
        if (name !== null && id !== NO_ID) ids.set(name, id);
        answer.forward(1);
        answer.readUVarIntArray(() => {
          answer.forward(2 + 4 + 4 + 4);
          for (let lists = 3; lists > 0; lists--) answer.readUVarIntArray(() => answer.forward(4));
          skipTags(answer);
        });
        answer.forward(4);
        skipTags(answer);
      });
      return ids;
    },
  );
}

/** https://kafka.apache.org/protocol#The_Messages_DescribeTransactions, of Kafka 3.0 */
const DESCRIBE_TRANSACTIONS = { apiKey: 65, apiName: 'DescribeTransactions', apiVersion: 0 };

/**
 * When the open transaction of an id began, by the clock of its coordinator, in ms since 1970.
 * @returns null: none is open, it may not be seen, or the broker is older
 * @throws errors of kafkajs
 */
export async function transactionStart(coordinator: Broker, transactionalId: string): Promise<number | null> {
  if (!speaks(coordinator, DESCRIBE_TRANSACTIONS)) return null;
  return askFlexible(
    coordinator,
    DESCRIBE_TRANSACTIONS,
    (body) => {
      writeArray(body, [transactionalId], (id) => body.writeUVarIntString(id));
      return body;
    },
    (answer) => {
      const described = answer.readUVarInt() - 1;
      const error = described > 0 ? answer.readInt16() : null;
      if (error !== 0) return null;
      const [_id, _state] = [answer.readUVarIntString(), answer.readUVarIntString()];
      answer.forward(4);
      const start = Number(answer.readInt64());
      return start < 0 ? null : start;
    },
  );
}
