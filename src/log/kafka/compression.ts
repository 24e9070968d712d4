import { CompressionTypes } from 'kafkajs';

export function compressionType(codec: 'gzip' | 'none' | 'lz4' | 'zstd'): CompressionTypes {
  return {
    gzip: CompressionTypes.GZIP,
    none: CompressionTypes.None,
    lz4: CompressionTypes.LZ4,
    zstd: CompressionTypes.ZSTD,
  }[codec];
}
