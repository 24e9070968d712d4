import type { Cluster } from '../connection/cluster';
import {
  AnswerReader,
  flexibleBody,
  NO_TAGS,
  sendFlexible,
  speaks,
  writeArray,
  writeId,
} from './answer-reader';

/** https://kafka.apache.org/protocol#The_Messages_Metadata: the first version with topic ids, of Kafka 2.8. */
const [METADATA, VERSION] = [3, 10];
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
  if (topics.length === 0 || !speaks(broker, METADATA, VERSION)) return new Map();
  return sendFlexible(broker, {
    request: {
      apiKey: METADATA,
      apiName: 'Metadata',
      apiVersion: VERSION,
      encode: async () => {
        const body = flexibleBody();
        writeArray(body, topics, (topic) => {
          writeId(body, NO_ID);
          body.writeUVarIntString(topic).writeUVarInt(NO_TAGS);
        });
        const [createsTopics, tellsClusterOperations, tellsTopicOperations] = [false, false, false];
        body.writeBoolean(createsTopics).writeBoolean(tellsClusterOperations);
        return body.writeBoolean(tellsTopicOperations).writeUVarInt(NO_TAGS);
      },
    },
    response: {
      decode: async (payload) => decodeMetadata(payload),
      parse: async (decoded) => (decoded as ReturnType<typeof decodeMetadata>).ids,
    },
  });
}

/** Reads no further than the last topic. */
function decodeMetadata(payload: Buffer): { clientSideThrottleTime: number; ids: Map<string, string> } {
  const reader = new AnswerReader(payload);
  reader.skipTags();
  const clientSideThrottleTime = reader.int32();
  for (let brokers = reader.compactLength(); brokers > 0; brokers--) {
    reader.skip(4);
    reader.compactText();
    reader.skip(4);
    reader.compactText();
    reader.skipTags();
  }
  reader.compactText();
  reader.skip(4);
  const ids = new Map<string, string>();
  for (let topics = reader.compactLength(); topics > 0; topics--) {
    reader.skip(2);
    const [name, id] = [reader.compactText(), reader.id()];
    if (id !== NO_ID) ids.set(name, id);
    reader.skip(1);
    for (let partitions = reader.compactLength(); partitions > 0; partitions--) {
      reader.skip(2 + 4 + 4 + 4);
      for (let lists = 3; lists > 0; lists--) reader.skip(4 * reader.compactLength());
      reader.skipTags();
    }
    reader.skip(4);
    reader.skipTags();
  }
  return { clientSideThrottleTime, ids };
}
