import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { CompressionTypes } from 'kafkajs';
import SnappyCodec from 'kafkajs-snappy';
import { compressFrame, decompressFrame } from 'lz4-napi';
import { HighwaterError } from '../../../errors';
import { unfoldedSize } from './unfolded-size';

/** As HIGHWATER_COMPRESSION names it. */
export type CodecName = keyof typeof types;

/** Kafka's number of a codec. @throws HighwaterError CONFIG_INVALID when this machine lacks it */
export function compressionType(codec: CodecName): CompressionTypes {
  if (codec === 'zstd') zstd();
  return types[codec];
}

const types = {
  gzip: CompressionTypes.GZIP,
  none: CompressionTypes.None,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
};

interface Codec {
  compress(bytes: Buffer): Promise<Buffer>;
  decompress(bytes: Buffer): Promise<Buffer>;
  /** Left out if `decompress` stops by itself. */
  unfoldedSize?(bytes: Buffer): number;
}

/** @throws RangeError for a codec that Kafka does not have; HighwaterError CONFIG_INVALID when this machine lacks it */
function codecOf(type: number): Codec {
  if (type === CompressionTypes.GZIP) return gzip;
  if (type === CompressionTypes.Snappy) return snappy;
  if (type === CompressionTypes.LZ4) return lz4;
  if (type === CompressionTypes.ZSTD) return zstd();
  throw new RangeError(`there is no codec ${type}`);
}

/** @param type any but None */
export function compress(type: CompressionTypes, bytes: Buffer): Promise<Buffer> {
  return codecOf(type).compress(bytes);
}

/**
 * @param type the codec's number in a batch's attributes
 * @throws as `codecOf`; errors of the codec
 */
export async function decompress(type: number, bytes: Buffer): Promise<Buffer> {
  if (type === CompressionTypes.None) return bytes;
  const codec = codecOf(type);
  if (codec.unfoldedSize !== undefined && codec.unfoldedSize(bytes) > mostUnfolded(bytes))
    throw tooLarge(bytes);
  return codec.decompress(bytes);
}

/** A batch of events unfolds to five to twenty times its size. One of zeros can become thousands of times as large. */
const [MOST_BYTES, MOST_TIMES] = [64 * 1_048_576, 100];

function mostUnfolded(bytes: Buffer): number {
  return Math.max(MOST_BYTES, MOST_TIMES * bytes.length);
}

function tooLarge(bytes: Buffer): RangeError {
  return new RangeError(
    `its ${bytes.length} bytes unfold to more than ${mostUnfolded(bytes)}, so no publisher has written it`,
  );
}

const fastest = 1;
const deflate = promisify<Buffer, zlib.ZlibOptions, Buffer>(zlib.gzip);
const inflate = promisify<Buffer, zlib.ZlibOptions, Buffer>(zlib.gunzip);

/**
 * Bytes up to which gzip does not go to another thread. The way there and the thread's own memory cost 100 µs: ten small batches, which a
 * page with a few changes becomes, take 1.1 ms there and 0.1 ms here.
 */
const SMALL = 16 * 1024;

const gzip: Codec = {
  async compress(bytes) {
    // The most memory, and its output in large pieces: a tenth of the time.
    const options = { level: fastest, memLevel: 9, chunkSize: pieceSize(bytes) };
    return bytes.length > SMALL ? deflate(bytes, options) : zlib.gzipSync(bytes, options);
  },
  async decompress(bytes) {
    const options = { chunkSize: outputPiece(bytes), maxOutputLength: mostUnfolded(bytes) };
    // Both, because the told size may be wrong.
    const isSmall = Math.max(bytes.length, options.chunkSize) <= SMALL;
    try {
      return isSmall ? zlib.gunzipSync(bytes, options) : await inflate(bytes, options);
    } catch (error) {
      throw (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? tooLarge(bytes) : error;
    }
  },
};

/** Bytes of the pieces in which zlib hands out its result: each piece is a round trip to another thread. */
const pieceSize = (bytes: Buffer) => (bytes.length > SMALL ? 256 * 1024 : SMALL);

const [LEAST_PIECE, MOST_PIECE] = [1_024, 4 * 1_048_576];

/**
 * One piece for the whole output. The end of a gzip stream tells its size; one byte more shows that nothing follows. The size in a
 * foreign stream is only a hint.
 */
function outputPiece(bytes: Buffer): number {
  const told = bytes.length < 4 ? 0 : bytes.readUInt32LE(bytes.length - 4);
  return Math.min(Math.max(told + 1, LEAST_PIECE), MOST_PIECE);
}

/** Never written here, but the operator of a cluster may have the brokers compress topics with it. */
const snappy: Codec = {
  compress: (buffer) => SnappyCodec().compress({ buffer }),
  decompress: SnappyCodec().decompress,
  unfoldedSize: unfoldedSize.snappy,
};

/** Frames of independent blocks, which is what Kafka reads. */
const lz4: Codec = {
  compress: (bytes) => compressFrame(bytes),
  decompress: decompressFrame,
  unfoldedSize: unfoldedSize.lz4,
};

let loaded: Codec | null = null;

/** Node's own from 22.15 on, else a prebuilt library, which some machines cannot load. */
function zstd(): Codec {
  loaded ??= 'zstdCompress' in zlib ? ofNode(zlib as unknown as NodeZstd) : ofLibrary();
  return loaded;
}

/** Missing in the types of the oldest Node that we support. */
interface NodeZstd {
  readonly zstdCompress: typeof zlib.brotliCompress;
  readonly zstdDecompress: typeof zlib.brotliDecompress;
  readonly constants: { readonly ZSTD_c_compressionLevel: number };
}

function ofNode({ zstdCompress, zstdDecompress, constants }: NodeZstd): Codec {
  const [compress, decompress] = [promisify(zstdCompress), promisify(zstdDecompress)];
  const params = { [constants.ZSTD_c_compressionLevel]: fastest };
  return {
    compress: (bytes) => compress(bytes, { params, chunkSize: pieceSize(bytes) }),
    decompress: (bytes) => decompress(bytes, { chunkSize: pieceSize(bytes) }),
    unfoldedSize: unfoldedSize.zstd,
  };
}

function ofLibrary(): Codec {
  try {
    const library = require('@mongodb-js/zstd') as typeof import('@mongodb-js/zstd');
    return {
      compress: (bytes) => library.compress(bytes, fastest),
      decompress: library.decompress,
      unfoldedSize: unfoldedSize.zstd,
    };
  } catch (cause) {
    const what = `zstd cannot be used with Node ${process.versions.node} on ${process.platform} ${process.arch}`;
    throw new HighwaterError('CONFIG_INVALID', what, {
      cause,
      remedy: 'Use Node 22.15 or later, or another codec (HIGHWATER_COMPRESSION).',
    });
  }
}
