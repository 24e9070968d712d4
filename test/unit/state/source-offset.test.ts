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

it.each<[number, Partial<SourceOffset>]>([
  [5, { least_change_age_ms: 61_000, topic_ids: [{ topic: 'ipos', id: 'c1' }], lost_topics: ['ipos'] }],
])('a position of version %i is read by the next version, and the other way round', (version, added) => {
  const schemaOf = (one: number) =>
    JSON.parse(readFileSync(versionFile(historyFolder, 'ipos.source-offset-value', one), 'utf8'));
  const [earlier, next] = [version, version + 1].map((one) => wireType<object>(schemaOf(one), one));
  earlier!.addWriter(version + 1, schemaOf(version + 1));
  next!.addWriter(version, schemaOf(version));
  const first = Object.entries(firstSourceOffset('ipos', 'abcd1234', 'scope'));
  const [before, since] = [version, version + 1].map((one) => {
    const names = schemaOf(one).fields.map(({ name }: { readonly name: string }) => name);
    return Object.fromEntries(first.filter(([name]) => names.includes(name)));
  });
  expect(next!.decode(earlier!.encode(before!))).toEqual(since);
  expect(earlier!.decode(next!.encode({ ...since, ...added }))).toEqual(before);
});

it('incarnations are short, and no two are alike', () => {
  const incarnations = Array.from({ length: 100 }, newIncarnation);
  expect(incarnations.filter((one) => !/^[0-9a-f]{8}$/.test(one))).toStrictEqual([]);
  expect(new Set(incarnations)).toHaveProperty('size', 100);
});
