import { firstSourceOffset, newIncarnation } from '../../../src/state/source-offset';
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

it('incarnations are short, and no two are alike', () => {
  const incarnations = Array.from({ length: 100 }, newIncarnation);
  expect(incarnations.filter((one) => !/^[0-9a-f]{8}$/.test(one))).toStrictEqual([]);
  expect(new Set(incarnations)).toHaveProperty('size', 100);
});
