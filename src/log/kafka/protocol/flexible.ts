import type { ApiCall, ApiVersion, Broker } from '../connection/cluster';
import { Decoder, Encoder } from '../connection/kafkajs-internals';

/**
 * Requests in "flexible" versions of the protocol (KIP-482), which kafkajs does not speak: lengths are variable-length integers, and
 * every structure ends with tagged fields. Only these versions have topic ids (KIP-516).
 */

export const NO_TAGS = 0;
const ID_BYTES = 16;

/** The header of a flexible request ends with tagged fields. kafkajs writes headers without them, so they begin the body. */
export function flexibleBody(): Encoder {
  return new Encoder().writeUVarInt(NO_TAGS);
}

export function writeArray<T>(body: Encoder, values: readonly T[], write: (value: T) => void): void {
  body.writeUVarInt(values.length + 1);
  for (const value of values) write(value);
}

/** @param id as `readId` returns it */
export function writeId(body: Encoder, id: string): void {
  body.writeBufferInternal(Buffer.from(id, 'base64url'));
}

/** As Kafka's tools print it. */
export function readId(answer: Decoder): string {
  return answer.readBytes(ID_BYTES)!.toString('base64url');
}

/** kafkajs's own reader of tags takes their length for one more than it is. */
export function skipTags(answer: Decoder): void {
  for (let tags = answer.readUVarInt(); tags > 0; tags--) {
    answer.readUVarInt();
    answer.forward(answer.readUVarInt());
  }
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
  read: (answer: Decoder) => T,
): Promise<T> {
  return sendFlexible(broker, {
    request: { ...api, encode: async () => write(flexibleBody()).writeUVarInt(NO_TAGS) },
    response: {
      async decode(payload) {
        const answer = new Decoder(payload);
        skipTags(answer);
        return { clientSideThrottleTime: answer.readInt32(), read: read(answer) };
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
