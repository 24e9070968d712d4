import type { ApiCall, ApiVersion, Broker } from '../connection/cluster';
import { type Encoder, newEncoder } from '../connection/kafkajs-internals';

/** Reads the fields of an answer in order. @throws RangeError behind the end */
export class AnswerReader {
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
    return this.textOf(this.int16());
  }

  /** A view. */
  bytes(): Buffer {
    return this.take(Math.max(this.int32(), 0));
  }

  /** The methods below read flexible versions (KIP-482): a length is sent plus one, and 0 stands for null. */
  compactLength(): number {
    return Math.max(this.varint() - 1, 0);
  }

  compactText(): string {
    return this.textOf(this.compactLength());
  }

  /** A view. */
  compactBytes(): Buffer {
    return this.take(this.compactLength());
  }

  /** As Kafka's tools print it. */
  id(): string {
    return this.take(ID_BYTES).toString('base64url');
  }

  skipTags(): void {
    for (let tags = this.varint(); tags > 0; tags--) {
      this.varint();
      this.skip(this.varint());
    }
  }

  private varint(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.source.readUInt8(this.at++);
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  }

  private textOf(length: number): string {
    this.at += length;
    return this.source.toString('utf8', this.at - length, this.at);
  }

  private take(length: number): Buffer {
    this.at += length;
    return this.source.subarray(this.at - length, this.at);
  }
}

const ID_BYTES = 16;

/**
 * Requests in "flexible" versions of the protocol (KIP-482), which kafkajs does not speak: lengths are variable-length integers, and
 * every structure ends with tagged fields. Only these versions have topic ids (KIP-516).
 */

export const NO_TAGS = 0;

/** The header of a flexible request ends with tagged fields. kafkajs writes headers without them, so they begin the body. */
export function flexibleBody(): Encoder {
  return newEncoder().writeUVarInt(NO_TAGS);
}

export function writeArray<T>(body: Encoder, values: readonly T[], write: (value: T) => void): void {
  body.writeUVarInt(values.length + 1);
  for (const value of values) write(value);
}

/** @param id as `AnswerReader.id` returns it */
export function writeId(body: Encoder, id: string): void {
  body.writeBufferInternal(Buffer.from(id, 'base64url'));
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
export function askFlexible<T>(
  broker: Broker,
  api: ApiVersion,
  write: (body: Encoder) => Encoder,
  read: (answer: AnswerReader) => T,
): Promise<T> {
  return sendFlexible(broker, {
    request: { ...api, encode: async () => write(flexibleBody()).writeUVarInt(NO_TAGS) },
    response: {
      async decode(payload) {
        const answer = new AnswerReader(payload);
        answer.skipTags();
        return { clientSideThrottleTime: answer.int32(), read: read(answer) };
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
