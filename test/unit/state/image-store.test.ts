import fc from 'fast-check';
import { imageStore } from '../../../src/state/image-store';

const SLAB_BYTES = 1024;
/** Many small ones, some that nearly fill a slab or need one of their own. */
const image = fc.oneof(
  { weight: 8, arbitrary: fc.uint8Array({ maxLength: 100 }) },
  { weight: 1, arbitrary: fc.uint8Array({ minLength: 200, maxLength: 300 }) },
  { weight: 1, arbitrary: fc.uint8Array({ minLength: 900, maxLength: 3_000 }) },
);
const id = fc.integer({ min: 0, max: 60 }).map((n) => `id-${n}`);
const step = fc.oneof(
  { weight: 5, arbitrary: fc.tuple(fc.constant('set' as const), id, image) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('delete' as const), id) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('hold' as const), id) },
);

describe('image store', () => {
  it('holds what a map would, and what it has handed out never changes', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
        const store = imageStore(SLAB_BYTES);
        const model = new Map<string, Buffer>();
        const held: { readonly bytes: Buffer | undefined; readonly copy: Buffer | undefined }[] = [];
        for (const [what, key, bytes] of steps) {
          if (what === 'set') {
            const given = Buffer.from(bytes);
            model.set(key, Buffer.from(bytes));
            store.set(key, given);
            given.fill(0xee); // it was copied
          } else if (what === 'delete') {
            model.delete(key);
            store.delete(key);
          } else {
            const found = store.get(key);
            held.push({ bytes: found, copy: found === undefined ? undefined : Buffer.from(found) });
          }
        }
        expect([...store.ids()].sort()).toEqual([...model.keys()].sort());
        for (const [key, bytes] of model) expect(store.get(key)).toEqual(bytes);
        expect(store.get('never')).toBeUndefined();
        expect([...store.ids()].map((key) => store.has(key)).every(Boolean)).toBe(true);
        expect([...store.values()].map(String).sort()).toEqual([...model.values()].map(String).sort());
        expect(store.size).toBe(model.size);
        expect(store.bytes).toBe([...model.values()].reduce((sum, { length }) => sum + length, 0));
        for (const { bytes, copy } of held) expect(bytes).toEqual(copy);
      }),
      { numRuns: 500 },
    );
  });

  it('takes little more than the images, however often they change', () => {
    fc.assert(
      fc.property(fc.infiniteStream(fc.nat()), (random) => {
        const store = imageStore(SLAB_BYTES);
        const next = (below: number) => (random.next().value as number) % below;
        for (let i = 0; i < 2_000; i++) {
          const key = `id-${next(100)}`;
          if (next(4) === 0) store.delete(key);
          else store.set(key, Buffer.alloc(next(10) === 0 ? 400 : 50));
          const overhead = 8 * store.size; // lengths, and where the next one may begin
          // Three quarters of what is used; of these slabs, of which an image takes up to a quarter, three quarters are used.
          const most = (store.bytes + overhead) / 0.75 / 0.75 + 2 * SLAB_BYTES;
          expect(store.slabBytes).toBeLessThanOrEqual(most);
        }
      }),
      { numRuns: 20 },
    );
  });

  it('gives all memory back when nothing is left but the slab in use', () => {
    const store = imageStore(SLAB_BYTES);
    for (let i = 0; i < 1_000; i++) store.set(`id-${i}`, Buffer.alloc(60));
    expect(store.slabBytes).toBeGreaterThan(60 * SLAB_BYTES);
    for (let i = 0; i < 1_000; i++) store.delete(`id-${i}`);
    expect(store).toMatchObject({ size: 0, bytes: 0 });
    expect(store.slabBytes).toBe(SLAB_BYTES);
  });
});
