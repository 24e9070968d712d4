import { CompressionTypes, type TopicPartition } from 'kafkajs';
import {
  type ApiCall,
  type ApiVersion,
  type Broker,
  type BrokerConnection,
  byTopic,
  type OfTopic,
  type ProduceAnswer,
  type ProducerIdentity,
  partitionName,
} from '../connection/cluster';
import { compress } from '../connection/compression';
import { brokersFailed, noteRefused } from '../connection/kafka-failure';
import { Encoder, produceRequests } from '../connection/kafkajs-internals';
import { type Checksum, crc32c } from './crc32c';
import { connectingAgain } from './newer-requests';
import { BEHIND_CHECKSUM, FORMAT, HEADER_BYTES, TRANSACTIONAL, UNCOUNTED_BYTES } from './record-batch';
import type { EncodedRecords } from './record-format';

/** The records that one request writes to one partition. */
export interface PartitionRecords extends TopicPartition {
  readonly records: EncodedRecords;
}

/** Where it went. */
export interface Appended extends PartitionRecords {
  /** Offset of the first record. */
  readonly baseOffset: bigint;
}

/**
 * Sequence numbers, by which brokers recognise a record that a producer sends again. By partition: the number of the record to come,
 * without a gap. Left out: 0.
 */
export type SequenceNumbers = Map<string, number>;

/** How long a broker may wait for its replicas, in ms. Its connection is given up sooner, and the same is sent again by another. */
const REPLICAS_MS = 30_000;

/**
 * One request to one leader.
 * @param sequences are moved on when all records were taken
 * @returns `heldBackMs`: time for which a quota of the broker delays the next write, in ms
 * @throws errors of kafkajs if one partition was refused; the other partitions may have accepted their records
 * @throws HighwaterError LOG_FAILED for an answer that does not belong to this request
 */
export async function produceTo(
  broker: Broker,
  sends: readonly PartitionRecords[],
  identity: ProducerIdentity,
  sequences: SequenceNumbers,
  compression: CompressionTypes,
): Promise<{ readonly appended: readonly Appended[]; readonly heldBackMs: number }> {
  const next = (of: TopicPartition) => sequences.get(partitionName(of)) ?? 0;
  const topicData = byTopic(sends, (each) => {
    return { partition: each.partition, firstSequence: next(each), records: each.records };
  });
  const request = { ...identity, compression, acks: -1, timeout: REPLICAS_MS, topicData } as const;
  let refused: ReadonlySet<string> = new Set();
  const answer = await produceEncoded(broker, request, (decoded) => {
    refused = refusedOf(decoded);
  }).catch((error: unknown) => {
    const own = sends.filter((each) => refused.has(partitionName(each)));
    throw noteRefused(error, own.length > 0 ? own : sends);
  });
  const answers = answer.topics.flatMap(({ topicName, partitions }) =>
    partitions.map((each) => ({ topic: topicName, ...each })),
  );
  const appended = sends.map((each) => {
    return { ...each, baseOffset: baseOffsetOf(each, answers, answers.length === sends.length) };
  });
  // 32 bits, and none for the sign.
  for (const each of sends) sequences.set(partitionName(each), (next(each) + each.records.count) % 2 ** 31);
  return { appended, heldBackMs: answer.clientSideThrottleTime ?? 0 };
}

/** kafkajs's error does not say which partitions the brokers refused. */
function refusedOf({ topics }: ProduceAnswer): ReadonlySet<string> {
  const all = topics.flatMap(({ topicName: topic, partitions }) =>
    partitions.map(({ partition, errorCode }) => ({ topic, partition, errorCode })),
  );
  return new Set(all.filter(({ errorCode }) => errorCode !== 0).map(partitionName));
}

/** @throws HighwaterError LOG_FAILED unless the answer is that this partition took the messages, once */
function baseOffsetOf(
  { topic, partition, records }: PartitionRecords,
  answers: readonly (TopicPartition & { readonly errorCode: number; readonly baseOffset?: string })[],
  isComplete: boolean,
): bigint {
  const taken = answers.find((one) => one.topic === topic && one.partition === partition);
  const offset = taken?.errorCode === 0 && isComplete ? BigInt(taken.baseOffset ?? -1) : -1n;
  if (offset >= 0n) return offset;
  const answer = answers.map((one) => `${partitionName(one)} with code ${one.errorCode}`);
  throw brokersFailed(
    `${records.count} records were sent to ${topic}/${partition}, and the answer was ${answer.join(', ') || 'empty'}`,
  );
}

const PRODUCE = 0;

export interface ProduceRequest extends ProducerIdentity {
  /** -1: all replicas that are in sync. */
  readonly acks: -1;
  /** How long to wait for these replicas, in ms. */
  readonly timeout: number;
  readonly compression: CompressionTypes;
  readonly topicData: readonly OfTopic<PartitionBatch>[];
}

interface PartitionBatch {
  readonly partition: number;
  /** Number of the first record, counted without gaps from 0 for each producer and partition. */
  readonly firstSequence: number;
  readonly records: EncodedRecords;
}

/**
 * The second of the two connections that kafkajs has to each broker. kafkajs uses it for Fetch, and a producer fetches nothing.
 * Under a quota the broker stops reading from the connection that produced. The commit must not wait for that, so it goes over the
 * other connection.
 */
const OWN_CONNECTION = 1;

/**
 * Sends a Produce request whose records are already encoded. kafkajs would copy them ten times, through zeroed buffers of the next
 * power of two; the garbage collection of that memory costs more than the copying. kafkajs still picks the version of the protocol,
 * keeps the queue of requests, and reads the answer.
 * @param answered gets the answer before kafkajs makes an error of it. Left out for the first request of a login
 * @throws what kafkajs throws
 */
async function produceEncoded(
  broker: Broker,
  request: ProduceRequest,
  answered: (answer: ProduceAnswer) => void,
): Promise<ProduceAnswer> {
  const call = broker.lookupRequest(PRODUCE, produceRequests)(request);
  return connectingAgain(broker, async () => {
    const connection = await broker.connectionPool.getConnection(OWN_CONNECTION);
    const needsLogin = connection.sasl && !connection.isAuthenticated();
    return needsLogin
      ? sendByKafkajs(connection, call, request)
      : sendFramed(connection, call, request, answered);
  });
}

/** For the first request of a connection that needs a login, and the first after a login has expired: kafkajs logs in. */
function sendByKafkajs(
  connection: BrokerConnection,
  { request: theirs, response }: ApiCall,
  request: ProduceRequest,
): Promise<ProduceAnswer> {
  const encode = async () => {
    const buffer = Buffer.concat(await encodePieces(request));
    // The members that kafkajs reads of its own encoder.
    return { buffer, buf: buffer };
  };
  return connection.send({ request: { ...theirs, encode }, response });
}

/** As the connection's own `send`, but it writes the frame itself. */
async function sendFramed(
  connection: BrokerConnection,
  { request: { apiKey, apiName, apiVersion }, response }: ApiCall,
  request: ProduceRequest,
  answered: (answer: ProduceAnswer) => void,
): Promise<ProduceAnswer> {
  const { clientId, requestQueue } = connection;
  const correlationId = connection.nextCorrelationId();
  const pieces = await encodePieces(request, { apiKey, apiVersion, correlationId, clientId });
  const { payload } = await new Promise<{ readonly payload: Buffer }>((resolve, reject) => {
    connection.failIfNotConnected();
    requestQueue.push({
      entry: { apiKey, apiName, apiVersion, correlationId, resolve, reject },
      expectResponse: true,
      requestTimeout: null,
      sendRequest: () => writeAll(connection.socket, pieces),
    });
  });
  // kafkajs's `parse` only looks for errors in it.
  const decoded = (await response.decode(payload)) as ProduceAnswer;
  requestQueue.maybeThrottle(decoded.clientSideThrottleTime);
  answered(decoded);
  return response.parse(decoded);
}

/** Pieces that are written while the socket is corked go out by one call. */
function writeAll(socket: BrokerConnection['socket'], pieces: readonly Buffer[]): void {
  socket.cork();
  for (const piece of pieces) socket.write(piece);
  socket.uncork();
}

/** Stands before each request, behind its length. */
interface RequestHeader extends Omit<ApiVersion, 'apiName'> {
  readonly correlationId: number;
  readonly clientId: string;
}

/**
 * The body of a Produce request, which is the same in versions 3 to 8; with a header, the whole message. In consecutive pieces, which
 * saves one copy of the records. No piece is the memory in which records were encoded. That memory is used again, and a connection
 * that was given up may still hold the pieces.
 */
export async function encodePieces(request: ProduceRequest, header: RequestHeader | null = null) {
  const { transactionalId, acks, timeout, compression, topicData } = request;
  const compressed = async (each: PartitionBatch) => {
    const { bytes } = each.records;
    const isPlain = compression === CompressionTypes.None;
    return { ...each, bytes: isPlain ? Buffer.from(bytes) : await compress(compression, bytes) };
  };
  const topics = await Promise.all(
    topicData.map(async ({ topic, partitions }) => {
      return { topic, partitions: await Promise.all(partitions.map(compressed)) };
    }),
  );
  const checksum = await crc32c();
  const pieces: Buffer[] = [];
  /** What comes before the next records. */
  let head = new Encoder().writeString(transactionalId).writeInt16(acks).writeInt32(timeout);
  head.writeInt32(topics.length);
  for (const { topic, partitions } of topics) {
    head.writeString(topic).writeInt32(partitions.length);
    for (const each of partitions) {
      head.writeInt32(each.partition).writeInt32(HEADER_BYTES + each.bytes.length);
      head.writeBufferInternal(batchHeader(request, each, checksum));
      pieces.push(head.buffer, each.bytes);
      head = new Encoder();
    }
  }
  return header === null ? pieces : [frameOf(header, pieces), ...pieces];
}

/** The length of a message and its header. */
function frameOf({ apiKey, apiVersion, correlationId, clientId }: RequestHeader, body: readonly Buffer[]) {
  const header = new Encoder().writeInt16(apiKey).writeInt16(apiVersion);
  header.writeInt32(correlationId).writeString(clientId);
  const size = body.reduce((sum, { length }) => sum + length, header.buffer.length);
  return Buffer.concat([new Encoder().writeInt32(size).buffer, header.buffer]);
}

/** https://kafka.apache.org/documentation/#recordbatch. By hand: kafkajs takes 64-bit integers apart, which takes as long as the rest. */
function batchHeader(
  { compression, producerId, producerEpoch }: ProduceRequest,
  { firstSequence, records, bytes }: PartitionBatch & { readonly bytes: Buffer },
  checksum: Checksum,
): Buffer {
  const { count, firstTimestamp, maxTimestamp } = records;
  const header = Buffer.allocUnsafe(HEADER_BYTES);
  let at = header.writeBigInt64BE(0n, 0); // the offset is the broker's to give
  at = header.writeInt32BE(HEADER_BYTES + bytes.length - UNCOUNTED_BYTES, at);
  at = header.writeInt32BE(0, at); // and so is the epoch of the leader
  at = header.writeInt8(FORMAT, at);
  at = header.writeInt16BE(compression | TRANSACTIONAL, BEHIND_CHECKSUM);
  at = header.writeInt32BE(count - 1, at);
  at = header.writeBigInt64BE(BigInt(firstTimestamp), at);
  at = header.writeBigInt64BE(BigInt(maxTimestamp), at);
  at = header.writeBigInt64BE(BigInt(producerId), at);
  at = header.writeInt16BE(producerEpoch, at);
  at = header.writeInt32BE(firstSequence, at);
  header.writeInt32BE(count, at);
  header.writeUInt32BE(checksum(header.subarray(BEHIND_CHECKSUM), bytes), BEHIND_CHECKSUM - 4);
  return header;
}
