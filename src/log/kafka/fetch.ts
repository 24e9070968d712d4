import type { Broker } from './cluster';
import { type RecordBatch, readBatches } from './record-batch';

/** What kafkajs has of it inside, which is not part of its published types. */
const FETCH = 1;
const kafkajsFetch = (): Parameters<Broker['lookupRequest']>[1] =>
  require('kafkajs/src/protocol/requests/fetch');

export interface FetchRequest {
  /** Of Kafka's protocol: 0 shows records of any transaction, 1 none behind the first one that is open. */
  readonly isolationLevel: 0 | 1;
  /** ms */
  readonly maxWaitTime: number;
  readonly minBytes: number;
  readonly maxBytes: number;
  readonly topics: readonly {
    readonly topic: string;
    readonly partitions: readonly {
      readonly partition: number;
      readonly fetchOffset: string;
      readonly maxBytes: number;
    }[];
  }[];
}

export interface FetchAnswer {
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
  /** Those that came whole. */
  readonly batches: readonly RecordBatch[];
  /** Of them, and of what came of another one. */
  readonly recordBytes: number;
}

/**
 * A Fetch request, of whose answer the records are still to be decoded. kafkajs makes a dozen objects and long integers of each
 * record, and copies its headers once for each of them; it also hides batches that compaction has emptied. It still picks the
 * version of the protocol, keeps the queue of requests, and makes errors of the answer's error codes.
 * @throws what kafkajs throws; HighwaterError LOG_UNREADABLE when a batch of the answer cannot be read
 */
export async function fetchBatches(broker: Broker, asked: FetchRequest): Promise<FetchAnswer> {
  const call = broker.lookupRequest<FetchAnswer>(FETCH, kafkajsFetch())(asked);
  const { parse } = call.response;
  const decode = (payload: Buffer) => decodeAnswer(payload, call.request.apiVersion);
  try {
    return await broker.connectionPool.send({ ...call, response: { decode, parse } });
  } catch (error) {
    // As kafkajs does: who asks for this broker next connects anew.
    if ((error as Error).name === 'KafkaJSConnectionClosedError') await broker.disconnect();
    throw error;
  }
}

/** From which version on the answer has what: https://kafka.apache.org/protocol#The_Messages_Fetch */
const LOG_START_SINCE = 5;
const SESSION_SINCE = 7;
/** From here on who asked is to wait; a broker of before has waited itself. */
const THROTTLED_BY_CLIENT_SINCE = 8;
const PREFERRED_REPLICA_SINCE = 11;

/** @param version from 4, the first one with transactions, to 11 */
export async function decodeAnswer(
  payload: Buffer,
  version: number,
): Promise<FetchAnswer & { readonly clientSideThrottleTime: number }> {
  const reader = new Reader(payload);
  const throttleTime = reader.int32();
  if (version >= SESSION_SINCE) reader.skip(2 + 4);
  const found: { readonly topicName: string; readonly partitions: ReturnType<typeof readPartition>[] }[] = [];
  for (let topics = reader.int32(); topics > 0; topics--) {
    const [topicName, partitions] = [reader.text(), [] as ReturnType<typeof readPartition>[]];
    for (let count = reader.int32(); count > 0; count--) partitions.push(readPartition(reader, version));
    found.push({ topicName, partitions });
  }
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

function readPartition(
  reader: Reader,
  version: number,
): Omit<FetchedPartition, 'batches' | 'recordBytes'> & { readonly records: Buffer } {
  const [partition, errorCode] = [reader.int32(), reader.int16()];
  const [highWatermark, lastStableOffset] = [reader.int64(), reader.int64()];
  if (version >= LOG_START_SINCE) reader.skip(8);
  const abortedTransactions: FetchedPartition['abortedTransactions'][number][] = [];
  // -1: nothing is said of them.
  for (let aborted = reader.int32(); aborted > 0; aborted--) {
    abortedTransactions.push({ producerId: reader.int64(), firstOffset: reader.int64() });
  }
  if (version >= PREFERRED_REPLICA_SINCE) reader.skip(4);
  const records = reader.bytes();
  return { partition, errorCode, highWatermark, lastStableOffset, abortedTransactions, records };
}

/** Of what stands before the records. @throws RangeError behind the end */
class Reader {
  private at = 0;

  constructor(private readonly source: Buffer) {}

  skip(bytes: number): void {
    this.at += bytes;
  }

  int16(): number {
    this.at += 2;
    return this.source.readInt16BE(this.at - 2);
  }

  int32(): number {
    this.at += 4;
    return this.source.readInt32BE(this.at - 4);
  }

  int64(): bigint {
    this.at += 8;
    return this.source.readBigInt64BE(this.at - 8);
  }

  text(): string {
    const length = this.int16();
    this.at += length;
    return this.source.toString('utf8', this.at - length, this.at);
  }

  /** A view. */
  bytes(): Buffer {
    const length = Math.max(this.int32(), 0);
    this.at += length;
    return this.source.subarray(this.at - length, this.at);
  }
}
