import type { ApiCall, Broker } from '../connection/cluster';
import { newEncoder } from '../connection/kafkajs-internals';

/**
 * Requests in "flexible" versions of the protocol (KIP-482), which kafkajs does not speak: lengths are variable-length integers, and
 * every structure ends with tagged fields. Only these versions have topic ids (KIP-516).
 */

/** No tagged fields. */
const NONE = 0;

/** The header of a flexible request ends with tagged fields. kafkajs writes headers without them, so they begin the body. */
export function flexibleBody(): FlexibleWriter {
  return new FlexibleWriter().tags();
}

export class FlexibleWriter {
  private readonly encoder = newEncoder();

  int8(value: number): this {
    this.encoder.writeInt8(value);
    return this;
  }

  int32(value: number): this {
    this.encoder.writeInt32(value);
    return this;
  }

  int64(value: string): this {
    this.encoder.writeInt64(value);
    return this;
  }

  boolean(value: boolean): this {
    this.encoder.writeBoolean(value);
    return this;
  }

  text(value: string | null): this {
    this.encoder.writeUVarIntString(value);
    return this;
  }

  /** @param id as `FlexibleReader.id` returns it */
  id(id: string): this {
    this.encoder.writeBufferInternal(Buffer.from(id, 'base64url'));
    return this;
  }

  array<T>(values: readonly T[], write: (value: T) => void): this {
    this.encoder.writeUVarInt(values.length + 1);
    for (const value of values) write(value);
    return this;
  }

  tags(): this {
    this.encoder.writeUVarInt(NONE);
    return this;
  }

  /** The form that kafkajs expects. */
  encoded(): object {
    return this.encoder;
  }
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
