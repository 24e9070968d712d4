import { FirstSights } from '../../../src/pipeline/changes/first-sights';

const NOW = 1_790_000_000_000;
const MINUTE = 60_000;

it('a record is recent for a quarter of an hour, and all are in which another owner may have found them', () => {
  const sights = new FirstSights(NOW);
  expect(sights.isRecent('a', NOW + 14 * MINUTE)).toBe(true);
  sights.note('b', NOW + 10 * MINUTE);
  const recent = (minutes: number) => ['a', 'b'].filter((id) => sights.isRecent(id, NOW + minutes * MINUTE));
  expect([recent(14), recent(15), recent(24), recent(25)]).toEqual([['a', 'b'], ['b'], ['b'], []]);
});

it('needs no memory for every record: of too many, all are recent', () => {
  const sights = new FirstSights(0);
  for (let i = 0; i < 10_000; i++) sights.note(`old${i}`, NOW);
  sights.note('new', NOW + 20 * MINUTE);
  const isRecent = (id: string) => sights.isRecent(id, NOW + 20 * MINUTE);
  expect([isRecent('old1'), isRecent('new'), isRecent('other')]).toEqual([false, true, false]);
  for (let i = 0; i < 10_000; i++) sights.note(`new${i}`, NOW + 21 * MINUTE);
  expect([isRecent('old1'), isRecent('new'), isRecent('other')]).toEqual([true, true, true]);
});
