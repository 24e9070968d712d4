/** Confluent wire format: a zero byte, the schema id (4 bytes, big endian), the Avro bytes. */
export const WIRE_HEADER_BYTES = 5;

export function writeWireHeader(target: Buffer, at: number, schemaId: number): void {
  target[at] = 0;
  target.writeUInt32BE(schemaId, at + 1);
}

/** @throws RangeError when the value is not in the wire format */
export function readSchemaId(value: Buffer): number {
  if (value.length < WIRE_HEADER_BYTES || value[0] !== 0) {
    throw new RangeError(`not in the Confluent wire format: ${value.length} bytes, first byte ${value[0]}`);
  }
  return value.readUInt32BE(1);
}
