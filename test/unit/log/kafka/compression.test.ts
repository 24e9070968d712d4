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
