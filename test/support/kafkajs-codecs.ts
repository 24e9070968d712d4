import { CompressionCodecs, CompressionTypes } from 'kafkajs';
import { compress, decompress } from '../../src/log/kafka/connection/compression';

/** Makes kafkajs itself read and write by the codecs of highwater. */
export function registerCodecs(): void {
  for (const type of [CompressionTypes.GZIP, CompressionTypes.LZ4, CompressionTypes.ZSTD] as const)
    CompressionCodecs[type] = () => ({
      compress: ({ buffer }: { readonly buffer: Buffer }) => compress(type, buffer),
      decompress: (bytes: Buffer) => decompress(type, bytes),
    });
}
