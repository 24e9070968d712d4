import { CompressionTypes } from 'kafkajs';
import type {
  ApiCall,
  Broker,
  BrokerConnection,
  OfTopic,
  ProduceAnswer,
  ProducerIdentity,
} from '../connection/cluster';
import { compress } from '../connection/compression';
import { produceRequests } from '../connection/kafkajs-internals';
import { type Checksum, crc32c } from './crc32c';
import { connectingAgain } from './flexible';
import { BEHIND_CHECKSUM, FORMAT, HEADER_BYTES, TRANSACTIONAL, UNCOUNTED_BYTES } from './record-batch';
import type { EncodedRecords } from './record-format';

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
 * @throws what kafkajs throws
 */
export async function produceEncoded(broker: Broker, request: ProduceRequest): Promise<ProduceAnswer> {
  const call = broker.lookupRequest(PRODUCE, produceRequests())(request);
  return connectingAgain(broker, async () => {
    const connection = await broker.connectionPool.getConnection(OWN_CONNECTION);
    const needsLogin = connection.sasl && !connection.isAuthenticated();
    return needsLogin ? sendByKafkajs(connection, call, request) : sendFramed(connection, call, request);
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
  const decoded = await response.decode(payload);
  requestQueue.maybeThrottle(decoded.clientSideThrottleTime);
  return response.parse(decoded);
}

/** Pieces that are written while the socket is corked go out by one call. */
function writeAll(socket: BrokerConnection['socket'], pieces: readonly Buffer[]): void {
  socket.cork();
  for (const piece of pieces) socket.write(piece);
  socket.uncork();
}

/** Stands before each request, behind its length. */
export interface RequestHeader {
  readonly apiKey: number;
  readonly apiVersion: number;
  readonly correlationId: number;
  readonly clientId: string;
}

/**
 * The body of a Produce request, which is the same in versions 3 to 8; with a header, the whole message. In consecutive pieces, which
 * saves one copy of the records. No piece is the memory in which records were encoded. That memory is used again, and a connection
 * that was given up may still hold the pieces.
 */
export async function encodePieces(
  request: ProduceRequest,
  header: RequestHeader | null = null,
): Promise<Buffer[]> {
  const { transactionalId, acks, timeout, compression, topicData } = request;
  const topics = await Promise.all(
    topicData.map(async ({ topic, partitions }) => ({
      topic,
      partitions: await Promise.all(
        partitions.map(async (each) => ({
          ...each,
          bytes:
            compression === CompressionTypes.None
              ? Buffer.from(each.records.bytes)
              : await compress(compression, each.records.bytes),
        })),
      ),
    })),
  );
  const frameBytes = header === null ? 0 : 4 + 2 + 2 + 4 + 2 + Buffer.byteLength(header.clientId);
  let recordsSize = 0;
  /** Everything else. */
  let size = frameBytes + 2 + Buffer.byteLength(transactionalId) + 2 + 4 + 4;
  for (const { topic, partitions } of topics) {
    size += 2 + Buffer.byteLength(topic) + 4;
    size += partitions.length * (4 + 4 + HEADER_BYTES);
    for (const { bytes } of partitions) recordsSize += bytes.length;
  }

  const checksum = await crc32c();
  const target = Buffer.allocUnsafe(size);
  const pieces: Buffer[] = [];
  let taken = 0;
  let at = header === null ? 0 : writeHeader(target, header, size + recordsSize);
  at = writeText(target, at, transactionalId);
  at = target.writeInt16BE(acks, at);
  at = target.writeInt32BE(timeout, at);
  at = target.writeInt32BE(topics.length, at);
  for (const { topic, partitions } of topics) {
    at = writeText(target, at, topic);
    at = target.writeInt32BE(partitions.length, at);
    for (const each of partitions) {
      at = target.writeInt32BE(each.partition, at);
      at = target.writeInt32BE(HEADER_BYTES + each.bytes.length, at);
      at = writeBatchHeader(target, at, request, each, checksum);
      pieces.push(target.subarray(taken, at), each.bytes);
      taken = at;
    }
  }
  return at === taken ? pieces : [...pieces, target.subarray(taken, at)];
}

function writeHeader(
  target: Buffer,
  { apiKey, apiVersion, correlationId, clientId }: RequestHeader,
  size: number,
): number {
  let at = target.writeInt32BE(size - 4, 0);
  at = target.writeInt16BE(apiKey, at);
  at = target.writeInt16BE(apiVersion, at);
  at = target.writeInt32BE(correlationId, at);
  return writeText(target, at, clientId);
}

/** https://kafka.apache.org/documentation/#recordbatch */
function writeBatchHeader(
  target: Buffer,
  start: number,
  { compression, producerId, producerEpoch }: ProduceRequest,
  { firstSequence, records, bytes }: PartitionBatch & { readonly bytes: Buffer },
  checksum: Checksum,
): number {
  const { count, firstTimestamp, maxTimestamp } = records;
  const end = start + HEADER_BYTES;
  let at = target.writeBigInt64BE(0n, start); // the offset is the broker's to give
  at = target.writeInt32BE(HEADER_BYTES + bytes.length - UNCOUNTED_BYTES, at);
  at = target.writeInt32BE(0, at); // and so is the epoch of the leader
  at = target.writeInt8(FORMAT, at);
  const checksumAt = at;
  at = target.writeInt16BE(compression | TRANSACTIONAL, checksumAt + 4);
  at = target.writeInt32BE(count - 1, at);
  at = target.writeBigInt64BE(BigInt(firstTimestamp), at);
  at = target.writeBigInt64BE(BigInt(maxTimestamp), at);
  at = target.writeBigInt64BE(BigInt(producerId), at);
  at = target.writeInt16BE(producerEpoch, at);
  at = target.writeInt32BE(firstSequence, at);
  target.writeInt32BE(count, at);
  target.writeUInt32BE(checksum(target.subarray(start + BEHIND_CHECKSUM, end), bytes), checksumAt);
  return end;
}

function writeText(target: Buffer, start: number, text: string): number {
  const at = start + 2;
  const length = target.write(text, at);
  target.writeInt16BE(length, start);
  return at + length;
}
