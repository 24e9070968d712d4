import fc from 'fast-check';
import { HashIndex } from '../../../src/state/hash-index';
import { runs } from '../../support/runs';

it('finds what a map would, whichever keys have the same hash or slot', () => {
  // Few hashes, so that keys collide and share buckets.
  const hash = fc.constantFrom(0, 1, 2, 0x3fffff, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 2, 2 ** 32 - 1);
  const step = fc.tuple(hash, fc.nat(9), fc.constantFrom('add', 'add', 'remove', 'replace'));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const keys: string[] = [];
      const index = new HashIndex();
      const find = (hash: number, key: string) => index.find(hash, (number) => keys[number] === key);
      const model = new Map<string, { readonly hash: number; readonly number: number }>();
      for (const [hash, which, action] of steps) {
        const key = `${hash} ${which}`;
        const there = model.get(key);
        if (there === undefined) {
          index.add(hash, keys.length);
          model.set(key, { hash, number: keys.length });
          keys.push(key);
        } else if (action === 'remove') {
          index.remove(hash, there.number);
          model.delete(key);
        } else if (action === 'replace') {
          index.replace(hash, there.number, keys.length);
          model.set(key, { hash, number: keys.length });
          keys.push(key);
        }
        for (const [known, { hash, number }] of model) expect(find(hash, known)).toBe(number);
        if (!model.has(key)) expect(find(hash, key)).toBe(-1);
      }
    }),
    { numRuns: runs(100) },
  );
});
