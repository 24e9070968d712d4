import { EarlierContents } from '../../../src/pipeline/changes/earlier-contents';

const image = (n: number) => Buffer.from(`contents ${n}`);

it('the contents of a record are known for a minute', () => {
  const earlier = new EarlierContents();
  earlier.add('a', image(1), 0);
  expect([0, 60_000, 60_001].map((ms) => earlier.has('a', image(1), ms))).toEqual([true, true, false]);
  expect([earlier.has('a', image(2), 0), earlier.has('b', image(1), 0)]).toEqual([false, false]);
});

it('contents that were shown beside others are known for a day', () => {
  const earlier = new EarlierContents();
  earlier.add('a', image(1), 0);
  earlier.keep('a', 1_000);
  earlier.add('a', image(2), 2_000);
  expect([1, 2].map((n) => earlier.has('a', image(n), 86_401_000))).toEqual([true, true]);
  expect(earlier.has('a', image(1), 86_401_001)).toBe(false);
});

it('few contents of a record are known, and not of all records', () => {
  const earlier = new EarlierContents();
  for (let i = 0; i < 100; i++) earlier.add('a', image(i), 0);
  expect(Array.from({ length: 100 }, (_, i) => earlier.has('a', image(i), 0)).filter(Boolean)).toHaveLength(
    8,
  );
  expect(earlier.has('a', image(99), 0)).toBe(true);
  for (let i = 0; i < 10_000; i++) earlier.add(`b${i}`, image(0), 0);
  expect(['a', 'b0', 'b9999'].map((id) => earlier.has(id, image(id === 'a' ? 99 : 0), 0))).toEqual([
    false,
    true,
    true,
  ]);
});
