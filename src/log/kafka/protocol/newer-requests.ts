import type { Broker, Cluster } from '../connection/cluster';
import { askFlexible, NO_TAGS, readId, skipTags, speaks, writeArray, writeId } from './flexible';

/** https://kafka.apache.org/protocol#The_Messages_Metadata: the first version with topic ids, of Kafka 2.8. */
const METADATA = { apiKey: 3, apiName: 'Metadata', apiVersion: 10 };
/** Stands for no id. */
const NO_ID = Buffer.alloc(16).toString('base64url');

/**
 * The ids of topics by their names (KIP-516). A topic that is deleted and created again gets another id.
 * @returns no id from a broker without ids, nor for a topic that does not exist or may not be seen
 * @throws errors of kafkajs
 */
export async function topicIds(
  cluster: Cluster,
  topics: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const broker = await cluster.brokerPool.findConnectedBroker();
  if (topics.length === 0 || !speaks(broker, METADATA)) return new Map();
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
