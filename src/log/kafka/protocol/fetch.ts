import type { ApiCall, Broker } from '../connection/cluster';
import { Decoder, fetchRequests } from '../connection/kafkajs-internals';
import {
  flexibleBody,
  NO_TAGS,
  readId,
  sendFlexible,
  skipTags,
  speaks,
  writeArray,
  writeId,
} from './newer-requests';
import { type RecordBatch, readBatches } from './record-batch';

const FETCH = 1;

export interface FetchRequest {
  /** Kafka's numbers: 0 shows records of any transaction, 1 no records behind the first open transaction. */
  readonly isolationLevel: 0 | 1;
  /** ms */
  readonly maxWaitTime: number;
  readonly minBytes: number;
  readonly maxBytes: number;
  readonly topics: readonly {
    readonly topic: string;
    /** When every topic has one, a topic of the same name with another id is refused as unknown. */
    readonly topicId?: string | null;
    readonly partitions: readonly {
      readonly partition: number;
      readonly fetchOffset: string;
      readonly maxBytes: number;
    }[];
  }[];
}

export interface FetchAnswer {
  /** How long a quota of the broker holds back the next answer, in ms. */
  readonly clientSideThrottleTime?: number;
  readonly responses: readonly {
    readonly topicName: string;
    readonly partitions: readonly FetchedPartition[];
  }[];
}

export interface FetchedPartition {
  readonly partition: number;
  readonly errorCode: number;
  /** Behind the last record that all replicas have. */
  readonly highWatermark: bigint;
  readonly lastStableOffset: bigint;
  /** Transactions that were aborted and have records in this answer, by their first offset. */
  readonly abortedTransactions: readonly { readonly producerId: bigint; readonly firstOffset: bigint }[];
  /** The batches that came whole. */
  readonly batches: readonly RecordBatch[];
  /** Including a batch that was cut off. */
  readonly recordBytes: number;
}

/**
 * Sends a Fetch request, and leaves the records of its answer undecoded. kafkajs makes a dozen objects and long integers from each
 * record, and copies the headers once for each of them; it also hides batches that compaction has emptied. kafkajs still picks the
 * version of the protocol, keeps the queue of requests, and turns error codes into errors.
 * @throws what kafkajs throws; HighwaterError LOG_UNREADABLE when a batch of the answer cannot be read
 */
export async function fetchBatches(broker: Broker, asked: FetchRequest): Promise<FetchAnswer> {
  const call = broker.lookupRequest<FetchAnswer>(FETCH, fetchRequests)(asked);
  const { parse } = call.response;
  const isById =
    asked.topics.every(({ topicId }) => typeof topicId === 'string') &&
    speaks(broker, { apiKey: FETCH, apiVersion: BY_ID });
  const request = isById ? requestById(asked) : call.request;
  const decode = (payload: Buffer) => decodeAnswer(payload, request.apiVersion, asked);
  return sendFlexible(broker, { request, response: { decode, parse } });
}

/** The first version that names topics by their ids only, of Kafka 3.1. */
const BY_ID = 13;

/** https://kafka.apache.org/protocol#The_Messages_Fetch */
function requestById(asked: FetchRequest): ApiCall['request'] {
  const { isolationLevel, maxWaitTime, minBytes, maxBytes, topics } = asked;
  const [consumer, noSession, noEpoch, unknownOffset] = [-1, 0, -1, '-1'];
  const [forgotten, anyRack] = [[], ''];
  return {
    apiKey: FETCH,
    apiName: 'Fetch',
    apiVersion: BY_ID,
    encode: async () => {
      const body = flexibleBody();
      body.writeInt32(consumer).writeInt32(maxWaitTime).writeInt32(minBytes).writeInt32(maxBytes);
      body.writeInt8(isolationLevel).writeInt32(noSession).writeInt32(noEpoch);
      writeArray(body, topics, ({ topicId, partitions }) => {
        writeId(body, topicId!);
        writeArray(body, partitions, (one) => {
          body.writeInt32(one.partition).writeInt32(noEpoch).writeInt64(one.fetchOffset);
          body.writeInt32(noEpoch).writeInt64(unknownOffset).writeInt32(one.maxBytes).writeUVarInt(NO_TAGS);
        });
        body.writeUVarInt(NO_TAGS);
      });
      writeArray(body, forgotten, () => undefined);
      return body.writeUVarIntString(anyRack).writeUVarInt(NO_TAGS);
    },
  };
}

/** The first versions with certain fields: https://kafka.apache.org/protocol#The_Messages_Fetch */
const LOG_START_SINCE = 5;
const SESSION_SINCE = 7;
/** From this version on the client has to wait; before it, the broker did. */
const THROTTLED_BY_CLIENT_SINCE = 8;
const PREFERRED_REPLICA_SINCE = 11;

/** Error codes that kafkajs does not know: no topic has this id (any more). */
const UNKNOWN_IDS: ReadonlySet<number> = new Set([100, 103]);
const UNKNOWN_TOPIC_OR_PARTITION = 3;

/**
 * @param version from 4, the first one with transactions, to 11; or 13
 * @param asked tells the names of topics by their ids
 */
export async function decodeAnswer(
  payload: Buffer,
  version: number,
  asked: Pick<FetchRequest, 'topics'> = { topics: [] },
): Promise<FetchAnswer & { readonly clientSideThrottleTime: number }> {
  const answer = new Decoder(payload);
  const isById = version >= BY_ID;
  const nameOf = (id: string) => asked.topics.find(({ topicId }) => topicId === id)?.topic ?? id;
  if (isById) skipTags(answer);
  const throttleTime = answer.readInt32();
  if (version >= SESSION_SINCE) answer.forward(2 + 4);
  const found = readArray(answer, version, () => {
    const topicName = isById ? nameOf(readId(answer)) : (answer.readString() ?? '');
    const partitions = readArray(answer, version, () => readPartition(answer, version));
    if (isById) skipTags(answer);
    return { topicName, partitions };
  });
  const responses = found.map(async ({ topicName, partitions }) => {
    const decoded = partitions.map(async ({ records, ...partition }) => {
      const batches = await readBatches(records, `${topicName}/${partition.partition}`);
      return { ...partition, batches, recordBytes: records.length };
    });
    return { topicName, partitions: await Promise.all(decoded) };
  });
  const clientSideThrottleTime = version >= THROTTLED_BY_CLIENT_SINCE ? throttleTime : 0;
  return { clientSideThrottleTime, responses: await Promise.all(responses) };
}

/** Null is empty. */
function readArray<T>(answer: Decoder, version: number, read: () => T): T[] {
  return version >= BY_ID ? (answer.readUVarIntArray(read) ?? []) : answer.readArray(read);
}

function readPartition(answer: Decoder, version: number) {
  const isById = version >= BY_ID;
  const [partition, code] = [answer.readInt32(), answer.readInt16()];
  const errorCode = UNKNOWN_IDS.has(code) ? UNKNOWN_TOPIC_OR_PARTITION : code;
  const [highWatermark, lastStableOffset] = [answer.readInt64(), answer.readInt64()];
  if (version >= LOG_START_SINCE) answer.forward(8);
  const abortedTransactions = readArray(answer, version, () => {
    const aborted = { producerId: answer.readInt64(), firstOffset: answer.readInt64() };
    if (isById) skipTags(answer);
    return aborted;
  });
  if (version >= PREFERRED_REPLICA_SINCE) answer.forward(4);
  // A compact length is sent plus one, and 0 stands for null.
  const length = isById ? answer.readUVarInt() - 1 : answer.readInt32();
  const records = answer.readBytes(Math.max(length, 0))!;
  if (isById) skipTags(answer);
  return { partition, errorCode, highWatermark, lastStableOffset, abortedTransactions, records };
}
