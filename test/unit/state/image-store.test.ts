import fc from 'fast-check';
import { imageStore } from '../../../src/state/image-store';
import { runs } from '../../support/runs';

const SLAB_BYTES = 1024;

/** Numbers from 0 to below the one that is asked for, by a seed. */
const random = fc
  .infiniteStream(fc.nat())
  .map((stream) => (below: number) => (stream.next().value as number) % below);

/** Most are small, some nearly fill what is left of a slab, some need one of their own. */
function image(next: (below: number) => number): Buffer {
  const kind = next(10);
  const length = kind < 8 ? next(100) : kind === 8 ? 200 + next(60) : 260 + next(3_000);
  return Buffer.alloc(length, next(256));
}

/** Some do not fit into bytes, and some are only half a character. */
function idOf(number: number): string {
  if (number % 7 === 0) return `${number}é`;
  if (number % 11 === 0) return `${'\u{1f600}'.repeat(number % 3)}${number}`;
  return number % 13 === 0 ? `\ud800${number}` : `id-${number}`;
}

const MISSING = Buffer.from('not there');

describe('image store', () => {
  it('holds what a map would, and what it has handed out never changes', () => {
    fc.assert(
      fc.property(random, (next) => {
        const store = imageStore(SLAB_BYTES);
        const model = new Map<string, Buffer>();
        const seen = new Map<string, number | null>();
        const seqs = new Map<string, number>();
        const shownNow = new Set<string>();
        let mostRecords = 0;
        const held: { readonly bytes: Buffer; readonly copy: Buffer }[] = [];
        for (let i = 0; i < 3_000; i++) {
          const key = idOf(next(60));
          if (next(6) > 0) {
            const given = image(next);
            model.set(key, Buffer.from(given));
            store.set(key, given, i);
            seen.set(key, null);
            seqs.set(key, i);
            shownNow.add(key);
            given.fill(0xee); // it was copied
          } else {
            model.delete(key);
            store.delete(key);
            shownNow.delete(key);
          }
          const shown = idOf(next(60));
          const second = next(5);
          if (model.has(shown)) seen.set(shown, second < (seen.get(shown) ?? 0) ? null : second);
          store.see(shown, second);
          mostRecords = Math.max(mostRecords, model.size);
          if (next(200) === 0) {
            store.forgetShown();
            shownNow.clear();
          }
          if (next(3) === 0) {
            store.show(shown);
            if (model.has(shown)) shownNow.add(shown);
          }
          const other = idOf(next(60));
          if (store.seenAt(other) !== (model.has(other) ? seen.get(other) : null))
            throw new Error(`step ${i}: ${other} is seen at ${store.seenAt(other)}`);
          if (store.seqOf(other) !== (model.has(other) ? seqs.get(other) : Number.POSITIVE_INFINITY))
            throw new Error(`step ${i}: ${other} was written by ${store.seqOf(other)}`);
          if (store.isShown(other) !== shownNow.has(other))
            throw new Error(`step ${i}: ${other} is shown: ${store.isShown(other)}`);
          const bytes = store.get(other);
          const isSame = bytes === undefined ? !model.has(other) : bytes.equals(model.get(other) ?? MISSING);
          if (!isSame) throw new Error(`step ${i}: ${other}`);
          if (bytes !== undefined && next(20) === 0) held.push({ bytes, copy: Buffer.from(bytes) });
        }
        expect([...store.ids()].sort()).toEqual([...model.keys()].sort());
        expect([...store.ids()].filter((id) => !store.has(id))).toStrictEqual([]);
        expect([...store.values()].map(String).sort()).toEqual([...model.values()].map(String).sort());
        expect(store.size).toBe(model.size);
        // Numbers of records that are gone are given again.
        for (const [number, id] of store.numbered(0)) {
          expect(number).toBeLessThan(mostRecords);
          expect([store.numberOf(id), store.idOf(number)]).toEqual([number, id]);
          expect(store.imageOf(number)).toEqual(model.get(id));
        }
        expect(store.bytes).toBe([...model.values()].reduce((sum, { length }) => sum + length, 0));
        expect(held.filter(({ bytes, copy }) => !bytes.equals(copy))).toStrictEqual([]);
      }),
      { numRuns: runs(10) },
    );
  });

  it('shows each id once that is there from beginning to end, whatever comes and goes meanwhile', () => {
    fc.assert(
      fc.property(random, (next) => {
        const store = imageStore(SLAB_BYTES);
        for (let i = 0; i < 700; i++) store.set(idOf(i), image(next), i);
        const lasting = new Set(store.ids());
        const times = new Map<string, number>();
        for (const id of store.ids()) {
          times.set(id, (times.get(id) ?? 0) + 1);
          const other = idOf(next(2_000));
          if (next(2) === 0) {
            store.delete(other);
            lasting.delete(other);
          } else store.set(other, image(next), 0);
        }
        expect([...lasting].filter((id) => times.get(id) !== 1)).toStrictEqual([]);
      }),
      { numRuns: runs(10) },
    );
  });

  it('takes little more than the images, however often they change', () => {
    fc.assert(
      fc.property(random, (next) => {
        const store = imageStore(SLAB_BYTES);
        for (let i = 0; i < 2_000; i++) {
          const key = `id-${next(100)}`;
          if (next(4) === 0) store.delete(key);
          else store.set(key, Buffer.alloc(next(10) === 0 ? 400 : 50), i);
          const overhead = 64 * store.size; // what stands before each, and where the next one may begin
          // Three quarters of what is used; of these slabs, of which an image takes up to a quarter, three quarters are used.
          const most = (store.bytes + overhead) / 0.75 / 0.75 + 2 * SLAB_BYTES;
          if (store.slabBytes > most) throw new Error(`step ${i}: ${store.slabBytes} of at most ${most}`);
        }
      }),
      { numRuns: runs(5) },
    );
  });

  it('gives all memory back when nothing is left but the slab in use', () => {
    const store = imageStore(SLAB_BYTES);
    // More slabs than those that V8 does not count.
    for (let i = 0; i < 2_000; i++) store.set(`id-${i}`, Buffer.alloc(60, i), i);
    expect(store.slabBytes).toBeGreaterThan(100 * SLAB_BYTES);
    for (let i = 0; i < 2_000; i++) expect(store.get(`id-${i}`)).toEqual(Buffer.alloc(60, i));
    for (let i = 0; i < 2_000; i++) store.delete(`id-${i}`);
    expect(store).toMatchObject({ size: 0, bytes: 0 });
    expect(store.slabBytes).toBe(SLAB_BYTES);
  });

  it('refuses an image by name before its places run out, and has every image until then', () => {
    const store = imageStore(SLAB_BYTES);
    const last = (): number => store.size - 1;
    let nearlyFullAt = 0;
    // Each has a slab of its own.
    const fill = () => {
      for (let i = 0; i < 132_000; i++) {
        store.set(`${i}`, Buffer.alloc(300, i % 251), i);
        if (nearlyFullAt === 0 && store.isNearlyFull) nearlyFullAt = i;
      }
    };
    expect(fill).toThrow(expect.objectContaining({ code: 'STATE_TOO_LARGE' }));
    expect([nearlyFullAt, last()]).toEqual([130_046, 131_054]);
    for (let i = 0; i <= last(); i++)
      if (!store.get(`${i}`)!.equals(Buffer.alloc(300, i % 251))) throw new Error(`image ${i} is another`);
    expect(store.has('131055')).toBe(false);

    for (let i = 0; i < 1_100; i++) store.delete(`${i}`);
    expect(store.isNearlyFull).toBe(false);
    store.set('again', Buffer.alloc(300, 1), 1);
    expect(store.get('again')).toEqual(Buffer.alloc(300, 1));
  });
});
