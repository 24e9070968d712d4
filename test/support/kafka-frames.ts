import type { Socket } from 'node:net';

/** The requests of Kafka's protocol that tests speak of, by their numbers: https://kafka.apache.org/protocol#protocol_api_keys */
export const apiKeys = {
  Produce: 0,
  Fetch: 1,
  ListOffsets: 2,
  Metadata: 3,
  OffsetCommit: 8,
  FindCoordinator: 10,
  JoinGroup: 11,
  Heartbeat: 12,
  SaslHandshake: 17,
  ApiVersions: 18,
  CreateTopics: 19,
  InitProducerId: 22,
  AddPartitionsToTxn: 24,
  AddOffsetsToTxn: 25,
  EndTxn: 26,
  TxnOffsetCommit: 28,
  DescribeConfigs: 32,
} as const;

export type KafkaApi = keyof typeof apiKeys;

export interface RequestHeader {
  readonly apiKey: number;
  readonly apiVersion: number;
  readonly correlationId: number;
}

const SIZE_BYTES = 4;
/** EndTxn carries tagged fields at its end from this version on. */
const FLEXIBLE_END_TXN = 3;

/** The messages of a connection, one at a time, each with the four bytes of its size. @throws the socket's errors */
export async function* frames(socket: Socket): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  let chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    // A large message comes in many chunks: joined only when there are enough of them.
    if (rest.length >= SIZE_BYTES && rest.length + length < SIZE_BYTES + rest.readInt32BE(0)) continue;
    rest = Buffer.concat([rest, ...chunks]);
    chunks = [];
    length = 0;
    while (rest.length >= SIZE_BYTES && rest.length >= SIZE_BYTES + rest.readInt32BE(0)) {
      const end = SIZE_BYTES + rest.readInt32BE(0);
      yield rest.subarray(0, end);
      rest = rest.subarray(end);
    }
  }
}

export function requestHeader(frame: Buffer): RequestHeader {
  return {
    apiKey: frame.readInt16BE(SIZE_BYTES),
    apiVersion: frame.readInt16BE(SIZE_BYTES + 2),
    correlationId: frame.readInt32BE(SIZE_BYTES + 4),
  };
}

/** In the requests that begin with a transactional id: from this version on they are laid out otherwise. kafkajs sends older ones. */
const compactIdFrom = new Map<number, number>([
  [apiKeys.InitProducerId, 2],
  [apiKeys.EndTxn, 3],
]);

/** The transactional id of an InitProducerId or EndTxn request; null: it has none, or is of another kind or a newer version. */
export function transactionalId(frame: Buffer, { apiKey, apiVersion }: RequestHeader): string | null {
  if (apiVersion >= (compactIdFrom.get(apiKey) ?? 0)) return null;
  const clientIdAt = SIZE_BYTES + 8;
  const at = clientIdAt + 2 + Math.max(frame.readInt16BE(clientIdAt), 0);
  const length = frame.readInt16BE(at);
  return length < 0 ? null : frame.toString('utf8', at + 2, at + 2 + length);
}

/** Which request an answer belongs to. */
export function answeredId(frame: Buffer): number {
  return frame.readInt32BE(SIZE_BYTES);
}

/** Whether an EndTxn request wants a commit rather than an abort: the last thing it says. */
export function wantsCommit(frame: Buffer, apiVersion: number): boolean {
  return frame[frame.length - (apiVersion >= FLEXIBLE_END_TXN ? 2 : 1)] === 1;
}

/** Kafka's error code in the answer to an EndTxn request; 0: carried out. It follows the correlation id and the throttle time. */
export function endTxnError(frame: Buffer, apiVersion: number): number {
  return frame.readInt16BE(SIZE_BYTES + 8 + (apiVersion >= FLEXIBLE_END_TXN ? 1 : 0));
}

/** Produce is laid out otherwise from this version on. */
const FLEXIBLE_PRODUCE = 9;

/** The `topic/partition`s that a Produce request has records for; null: of another kind or a newer version. kafkajs sends older ones. */
export function producedTo(frame: Buffer, { apiKey, apiVersion }: RequestHeader): readonly string[] | null {
  if (apiKey !== apiKeys.Produce || apiVersion >= FLEXIBLE_PRODUCE) return null;
  let at = SIZE_BYTES + 8;
  const number = (bytes: 2 | 4): number => {
    at += bytes;
    return bytes === 2 ? frame.readInt16BE(at - 2) : frame.readInt32BE(at - 4);
  };
  const text = (): string => {
    const from = at + 2;
    at = from + Math.max(number(2), 0);
    return frame.toString('utf8', from, at);
  };
  // Client id and transactional id; acks and timeout.
  text();
  text();
  at += 2 + 4;
  const partitions: string[] = [];
  for (let topics = number(4); topics > 0; topics--) {
    const topic = text();
    for (let left = number(4); left > 0; left--) {
      partitions.push(`${topic}/${number(4)}`);
      const bytes = number(4);
      at += Math.max(bytes, 0);
    }
  }
  return partitions;
}
