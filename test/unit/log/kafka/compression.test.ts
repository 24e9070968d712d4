import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { CompressionTypes } from 'kafkajs';
import { compress, decompress as decompressBy } from '../../../../src/log/kafka/connection/compression';
import { runs } from '../../../support/runs';

const decompress = (bytes: Buffer): Promise<Buffer> => decompressBy(CompressionTypes.GZIP, bytes);

/** Also more than comes out in one piece. */
const content = fc
  .tuple(fc.uint8Array({ maxLength: 300 }), fc.nat({ max: 30_000 }))
  .map(([bytes, times]) => Buffer.concat(Array<Uint8Array>(times).fill(bytes)));

describe('gzip', () => {
  it('any content comes out as it went in, in one stream or in several', async () => {
    await fc.assert(
      fc.asyncProperty(content, content, async (one, other) => {
        expect((await decompress(gzipSync(one))).equals(one)).toBe(true);
        const both = Buffer.concat([gzipSync(one), gzipSync(other)]);
        expect((await decompress(both)).equals(Buffer.concat([one, other]))).toBe(true);
        expect((await decompress(await compress(CompressionTypes.GZIP, one))).equals(one)).toBe(true);
      }),
      { numRuns: runs(30) },
    );
  });

  it.each([0, 99, 2 ** 32 - 1])(
    'that tells a size of %i, which it has not, is refused by name',
    async (told) => {
      const bytes = gzipSync(Buffer.alloc(5_000, 'a'));
      bytes.writeUInt32LE(told, bytes.length - 4);
      await expect(decompress(bytes)).rejects.toThrow('incorrect length check');
    },
  );

  it.each([0, 3, 17])('a stream that is cut off after %i bytes is refused by name', async (length) => {
    await expect(decompress(gzipSync('whole').subarray(0, length))).rejects.toThrow('unexpected end of file');
  });
});

describe.each([
  ['gzip', CompressionTypes.GZIP],
  ['snappy', CompressionTypes.Snappy],
  ['lz4', CompressionTypes.LZ4],
  ['zstd', CompressionTypes.ZSTD],
])('%s', (_, type) => {
  it('that unfolds to hundreds of times more than events do is refused by name', async () => {
    // Snappy makes a twentieth of zeros at best, so it is no danger, and takes long.
    const bomb =
      type === CompressionTypes.Snappy ? snappyBomb() : await compress(type, Buffer.alloc(80 * 1_048_576));
    await expect(decompressBy(type, bomb)).rejects.toThrow(/^its \d+ bytes unfold to more than \d+/);
  });

  it('any content that is no bomb comes out as it went in', async () => {
    await fc.assert(
      fc.asyncProperty(content, async (one) => {
        expect((await decompressBy(type, await compress(type, one))).equals(one)).toBe(true);
      }),
      { numRuns: runs(20) },
    );
  });

  it('bytes that are not of the format are refused, and no more is read than there is', async () => {
    await fc.assert(
      fc.asyncProperty(content, fc.nat(), fc.nat(255), async (one, at, byte) => {
        const bytes = await compress(type, one);
        bytes[at % bytes.length] = byte;
        await decompressBy(type, bytes).catch((error) => expect(error).toHaveProperty('message'));
      }),
      { numRuns: runs(100) },
    );
  });
});

/** In the form of xerial, which Kafka's own clients write: two hundred blocks that tell a size of 1 MiB. */
function snappyBomb(): Buffer {
  const header = Buffer.from([0x82, ...Buffer.from('SNAPPY'), 0, 0, 0, 0, 1, 0, 0, 0, 1]);
  const block = Buffer.from([0, 0, 0, 4, 0x80, 0x80, 0x40, 0]);
  return Buffer.concat([header, ...Array<Buffer>(200).fill(block)]);
}
