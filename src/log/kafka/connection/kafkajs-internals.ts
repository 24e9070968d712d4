import type { Broker } from './cluster';

/** Modules of kafkajs that its published types leave out. They belong to the version that package.json pins. */

type RequestDefinition = Parameters<Broker['lookupRequest']>[1];

export interface Encoder {
  writeInt8(value: number): Encoder;
  writeInt32(value: number): Encoder;
  writeInt64(value: string): Encoder;
  writeBoolean(value: boolean): Encoder;
  writeUVarInt(value: number): Encoder;
  writeUVarIntString(value: string | null): Encoder;
  writeBufferInternal(value: Buffer): void;
}

export const produceRequests = (): RequestDefinition => require('kafkajs/src/protocol/requests/produce');

export const fetchRequests = (): RequestDefinition => require('kafkajs/src/protocol/requests/fetch');

export const newEncoder = (): Encoder => new (require('kafkajs/src/protocol/encoder'))();

export const crc32cByByte = (bytes: Buffer): number =>
  require('kafkajs/src/protocol/recordBatch/crc32C')(bytes);
