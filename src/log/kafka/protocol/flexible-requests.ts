import type { ApiCall, Broker } from '../connection/cluster';
import { type Encoder, newEncoder } from '../connection/kafkajs-internals';

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
export function speaks(broker: Broker, apiKey: number, version: number): boolean {
  return (broker.versions?.[apiKey]?.maxVersion ?? 0) >= version;
}

/** @throws what kafkajs throws */
export async function sendFlexible<T>(broker: Broker, call: ApiCall<T>): Promise<T> {
  try {
    return await broker.connectionPool.send(call);
  } catch (error) {
    // As kafkajs does: the next caller that asks for this broker connects again.
    if ((error as Error).name === 'KafkaJSConnectionClosedError') await broker.disconnect();
    throw error;
  }
}
