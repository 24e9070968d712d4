import { readFileSync } from 'node:fs';
import { wireType } from '../../../src/avro/codec/wire-type';
import { historyFolder, versionFile } from '../../../src/avro/registry/schema-history';
import { firstSourceOffset, newIncarnation, type SourceOffset } from '../../../src/state/source-offset';
import { testFeed } from '../../support/feeds';
import { testPipeline } from '../../support/pipeline';

it('the first position of a feed can be stored, and says that nothing has happened yet', async () => {
  const first = firstSourceOffset('ipos', 'abcd1234', 'scope');
  const { sourceOffset } = (await testPipeline(testFeed('ipos'))).codec;
  expect({ ...sourceOffset.decode(sourceOffset.encode(first)) }).toStrictEqual(first);
  const { feed, incarnation, scope, snapshot, ordered, ...rest } = first;
  expect([feed, incarnation, scope, snapshot, ordered]).toEqual([
    'ipos',
    'abcd1234',
    'scope',
    'pending',
    true,
  ]);
  const said = Object.entries(rest).filter(([, value]) => (Array.isArray(value) ? value.length > 0 : value));
  expect(said).toStrictEqual([]);
});

it('a position without the age of changes is read, and an earlier version reads one with it', () => {
  const versionOf = (version: number) =>
    JSON.parse(readFileSync(versionFile(historyFolder, 'ipos.source-offset-value', version), 'utf8'));
  const [earlier, present] = [5, 6].map((version) =>
    wireType<Partial<SourceOffset>>(versionOf(version), version),
  );
  earlier!.addWriter(6, versionOf(6));
  present!.addWriter(5, versionOf(5));
  const { least_change_age_ms, ...others } = firstSourceOffset('ipos', 'abcd1234', 'scope');
  expect(present!.decode(earlier!.encode(others))).toEqual({ ...others, least_change_age_ms: 0 });
  expect(earlier!.decode(present!.encode({ ...others, least_change_age_ms: 61_000 }))).toEqual(others);
});

it('incarnations are short, and no two are alike', () => {
  const incarnations = Array.from({ length: 100 }, newIncarnation);
  expect(incarnations.filter((one) => !/^[0-9a-f]{8}$/.test(one))).toStrictEqual([]);
  expect(new Set(incarnations)).toHaveProperty('size', 100);
});
