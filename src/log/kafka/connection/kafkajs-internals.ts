import type { Broker } from './cluster';

/** Modules of kafkajs that its published types leave out. They belong to the version that package.json pins. */

type RequestDefinition = Parameters<Broker['lookupRequest']>[1];

export interface Encoder {
  readonly buffer: Buffer;
  writeInt8(value: number): Encoder;
  writeInt16(value: number): Encoder;
  writeInt32(value: number): Encoder;
  writeInt64(value: string): Encoder;
  writeString(value: string): Encoder;
  writeBoolean(value: boolean): Encoder;
  writeUVarInt(value: number): Encoder;
  writeUVarIntString(value: string | null): Encoder;
  writeBufferInternal(value: Buffer): void;
}

/** Reads the fields of an answer in order. Methods with `UVarInt` read flexible versions (KIP-482). */
export interface Decoder {
  readInt16(): number;
  readInt32(): number;
  readInt64(): bigint;
  readUVarInt(): number;
  readString(): string | null;
  readUVarIntString(): string | null;
  /** A view. @param length left out: it stands before the bytes */
  readBytes(length?: number): Buffer | null;
  readArray<T>(read: () => T): T[];
  readUVarIntArray<T>(read: () => T): T[] | null;
  forward(bytes: number): void;
}

export const produceRequests: RequestDefinition = require('kafkajs/src/protocol/requests/produce');

export const fetchRequests: RequestDefinition = require('kafkajs/src/protocol/requests/fetch');

export const Encoder: new () => Encoder = require('kafkajs/src/protocol/encoder');

export const Decoder: new (bytes: Buffer) => Decoder = require('kafkajs/src/protocol/decoder');

export const crc32cByByte: (bytes: Buffer) => number = require('kafkajs/src/protocol/recordBatch/crc32C');
