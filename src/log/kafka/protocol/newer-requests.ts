import type { Broker, Cluster } from '../connection/cluster';
import { askFlexible, NO_TAGS, speaks, writeArray, writeId } from './answer-reader';

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
      for (let brokers = answer.compactLength(); brokers > 0; brokers--) {
        answer.skip(4);
        answer.compactText();
        answer.skip(4);
        answer.compactText();
        answer.skipTags();
      }
      answer.compactText();
      answer.skip(4);
      const ids = new Map<string, string>();
      for (let found = answer.compactLength(); found > 0; found--) {
        answer.skip(2);
        const [name, id] = [answer.compactText(), answer.id()];
        if (id !== NO_ID) ids.set(name, id);
        answer.skip(1);
        for (let partitions = answer.compactLength(); partitions > 0; partitions--) {
          answer.skip(2 + 4 + 4 + 4);
          for (let lists = 3; lists > 0; lists--) answer.skip(4 * answer.compactLength());
          answer.skipTags();
        }
        answer.skip(4);
        answer.skipTags();
      }
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
      const described = answer.compactLength();
      const error = described === 0 ? null : answer.int16();
      if (error !== 0) return null;
      const [_id, _state] = [answer.compactText(), answer.compactText()];
      answer.skip(4);
      const start = Number(answer.int64());
      return start < 0 ? null : start;
    },
  );
}
