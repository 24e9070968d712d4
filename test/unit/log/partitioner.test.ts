import fc from 'fast-check';
import { Partitioners } from 'kafkajs';
import { murmur2, partitionOf } from '../../../src/log/partitioner';
import { anyCharacter } from '../../support/any-character';
import { runs } from '../../support/runs';

describe('partitioner', () => {
  // The vectors of the Java client's own tests (Apache Kafka, UtilsTest.testMurmur2), and the empty key.
  it.each([
    ['21', -973932308],
    ['foobar', -790332482],
    ['a-little-bit-long-string', -985981536],
    ['a-little-bit-longer-string', -1486304829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
    ['abc', 479470107],
    ['1', -1993445489],
    ['12', 126087238],
    ['123', -267702483],
    ['1234', -1614185708],
    ['12345', -1188365604],
    ['', 275646681],
  ])('hashes %p as the Java client does', (key, hash) => {
    expect(murmur2(Buffer.from(key))).toBe(hash);
  });

  // Ours to keep: another table would move keys to other partitions of logs that exist.
  it.each([
    ['695bdd0f7bad4dcabd14a073', 1],
    ['695bdd0f7bad4dcabd14a075', 2],
    ['695bdd0f7bad4dcabd14a077', 0],
    ['AAPL|5e8a1f', 1],
    ['MSFT|5e8a1f', 0],
    ['ipos', 0],
    ['analysts', 2],
  ])('puts %p into partition %i of 3 for ever', (key, partition) => {
    expect(partitionOf(key, 3)).toBe(partition);
  });

  // Another implementation, on big integers: what kafkajs and the Java client do with a key when nobody names a partition.
  it('puts any key where the default partitioner of kafkajs puts it', () => {
    const theirs = Partitioners.DefaultPartitioner();
    const key = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 40 }),
      fc.string({ unit: 'grapheme', maxLength: 20 }),
      fc.string({ minLength: 100, maxLength: 3_000, size: 'max' }),
      fc.stringMatching(/^[0-9a-f]{24}$/),
      fc.constant(''),
    );
    fc.assert(
      fc.property(key, fc.integer({ min: 1, max: 50 }), (key, partitions) => {
        const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({
          partitionId,
          partitionErrorCode: 0,
          leader: 1,
          replicas: [1],
          isr: [1],
        }));
        const topic = 'any';
        expect(partitionOf(key, partitions)).toBe(
          theirs({ topic, partitionMetadata, message: { key, value: null } }),
        );
      }),
      { numRuns: runs(300) },
    );
  });
});
