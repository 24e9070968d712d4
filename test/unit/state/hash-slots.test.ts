import fc from 'fast-check';
import { HashSlots } from '../../../src/state/hash-slots';
import { runs } from '../../support/runs';

it('finds what a map would, whichever keys have the same hash or slot', () => {
  // Few hashes in two of the tables, at both ends, so that keys lie side by side, collide, and go round.
  const hash = fc.constantFrom(0, 1, 2, 0x3fffff, 0x3ffffe, -1, -2, -0x200000);
  const step = fc.tuple(hash, fc.nat(9), fc.constantFrom('add', 'add', 'remove', 'replace'));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const keys: string[] = [];
      const slots = new HashSlots();
      const find = (hash: number, key: string) => slots.find(hash, (number) => keys[number] === key);
      const model = new Map<string, { readonly hash: number; readonly number: number }>();
      for (const [hash, which, action] of steps) {
        const key = `${hash} ${which}`;
        const there = model.get(key);
        if (there === undefined) {
          slots.add(hash, keys.length);
          model.set(key, { hash, number: keys.length });
          keys.push(key);
        } else if (action === 'remove') {
          slots.remove(hash, there.number);
          model.delete(key);
        } else if (action === 'replace') {
          slots.replace(hash, there.number, keys.length);
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
