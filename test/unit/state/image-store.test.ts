import { closeSync, fstatSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { type ImageStore, imageStore } from '../../../src/state/image-store';
import { runs } from '../../support/runs';

const SLAB_BYTES = 1024;

let folder: string;
let fds: number[];

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'highwater-test-'));
  fds = [];
});

afterEach(() => {
  for (const fd of fds) closeSync(fd);
  rmSync(folder, { recursive: true });
});

function newFile(): number {
  const fd = openSync(path.join(folder, `images-${fds.length}`), 'wx+');
  fds.push(fd);
  return fd;
}

const kinds = [
  ['in memory', () => imageStore({ fd: null, slabBytes: SLAB_BYTES })],
  ['with a file', () => imageStore({ fd: newFile(), slabBytes: SLAB_BYTES })],
] as const;

/** Numbers from 0 to below the one that is asked for, by a seed. */
const random = fc
  .infiniteStream(fc.nat())
  .map((stream) => (below: number) => (stream.next().value as number) % below);

/** Most are small, some nearly fill what is left of a slab, some need one of their own, or more than one. */
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

const idsIn = (store: ImageStore) => Array.from(store.numbers(), store.idOf);

interface Known {
  readonly image: Buffer;
  seenAt: number | null;
  isWitnessed: boolean;
  isUnshown: boolean;
  isOutOfScope: boolean;
}

describe.each(kinds)('image store %s', (_, create) => {
  it('holds what a map would, and what it has handed out never changes', () => {
    fc.assert(
      fc.property(random, (next) => {
        const store = create();
        const model = new Map<string, Known>();
        const held: { readonly bytes: Buffer; readonly copy: Buffer }[] = [];
        let most = 0;
        for (let i = 0; i < 3_000; i++) {
          const key = idOf(next(60));
          if (next(6) > 0) {
            const given = image(next);
            const [isUnshown, isOutOfScope] = [next(3) === 0, next(3) === 0];
            store.set(key, given, { isUnshown, isOutOfScope });
            model.set(key, {
              ...{ image: Buffer.from(given), seenAt: null, isWitnessed: true },
              ...{ isUnshown, isOutOfScope },
            });
            given.fill(0xee); // it was copied
          } else {
            model.delete(key);
            store.delete(key);
          }
          most = Math.max(most, model.size);
          const shown = idOf(next(60));
          const known = model.get(shown);
          const second = next(5);
          store.see(shown, second);
          if (known !== undefined) known.seenAt = second < (known.seenAt ?? 0) ? null : second;
          if (next(3) === 0) {
            store.witness(shown);
            if (known !== undefined) known.isWitnessed = true;
          }
          if (next(200) === 0) {
            store.forgetWitnessed();
            for (const one of model.values()) one.isWitnessed = false;
          }
          if (next(200) === 0) {
            const isUnshown = next(2) === 0;
            store.setAges({ isUnshown });
            for (const one of model.values()) one.isUnshown = isUnshown;
          }
          const other = idOf(next(60));
          const number = store.find(other);
          const expected = model.get(other);
          if (expected === undefined) {
            expect([number, store.get(other), store.isUnshown(other)]).toEqual([-1, undefined, false]);
            expect(store.isSame(other, Buffer.alloc(0))).toBe(false);
            continue;
          }
          const bytes = store.get(other)!;
          expect({
            image: bytes,
            seenAt: store.seenAt(number),
            isWitnessed: store.isWitnessed(number),
            isUnshown: store.isUnshown(other),
            isOutOfScope: store.isOutOfScope(number),
          }).toEqual(expected);
          expect(store.isSame(other, expected.image)).toBe(true);
          expect(store.isSame(other, Buffer.concat([expected.image, Buffer.alloc(1)]))).toBe(false);
          if (next(20) === 0) held.push({ bytes, copy: Buffer.from(bytes) });
        }
        expect(idsIn(store).sort()).toEqual([...model.keys()].sort());
        expect([...store.stored()].sort()).toEqual([...store.numbers()].sort());
        // Numbers of records that are gone are given again.
        for (const number of store.numbers()) {
          expect(number).toBeLessThan(most);
          const id = store.idOf(number);
          expect([store.find(id), store.imageOf(number)]).toEqual([number, model.get(id)!.image]);
        }
        expect(store.size).toBe(model.size);
        expect(store.bytes).toBe([...model.values()].reduce((sum, { image }) => sum + image.length, 0));
        expect(held.filter(({ bytes, copy }) => !bytes.equals(copy))).toStrictEqual([]);
      }),
      { numRuns: runs(5) },
    );
  });

  it('shows each record once that is there from beginning to end, whatever comes and goes meanwhile', () => {
    fc.assert(
      fc.property(random, (next) => {
        const store = create();
        for (let i = 0; i < 700; i++) store.set(idOf(i), image(next));
        const lasting = new Set(idsIn(store));
        const times = new Map<string, number>();
        for (const number of store.numbers()) {
          const id = store.idOf(number);
          times.set(id, (times.get(id) ?? 0) + 1);
          const other = idOf(next(2_000));
          if (next(2) === 0) {
            store.delete(other);
            lasting.delete(other);
          } else store.set(other, image(next));
        }
        expect([...lasting].filter((id) => times.get(id) !== 1)).toStrictEqual([]);
      }),
      { numRuns: runs(10) },
    );
  });

  it('takes little more than the images, however often they change', () => {
    fc.assert(
      fc.property(random, (next) => {
        const store = create();
        for (let i = 0; i < 2_000; i++) {
          const key = `id-${next(100)}`;
          if (next(4) === 0) store.delete(key);
          else store.set(key, Buffer.alloc(next(10) === 0 ? 400 : 50));
          const overhead = 64 * store.size; // what stands before each, and where the next one may begin
          // Half of what is used, of these slabs, of which an image takes up to a quarter, three quarters are used.
          const most = (store.bytes + overhead) / 0.5 / 0.75 + 2 * SLAB_BYTES;
          if (store.slabBytes > most) throw new Error(`step ${i}: ${store.slabBytes} of at most ${most}`);
        }
      }),
      { numRuns: runs(5) },
    );
  });

  it('gives all memory back when nothing is left but the slab in use', () => {
    const store = create();
    for (let i = 0; i < 2_000; i++) store.set(`id-${i}`, Buffer.alloc(60, i));
    expect(store.slabBytes).toBeGreaterThan(100 * SLAB_BYTES);
    for (let i = 0; i < 2_000; i++) expect(store.get(`id-${i}`)).toEqual(Buffer.alloc(60, i));
    for (let i = 0; i < 2_000; i++) store.delete(`id-${i}`);
    expect(store).toMatchObject({ size: 0, bytes: 0 });
    expect(store.slabBytes).toBe(SLAB_BYTES);
  });
});

it('refuses an image by name before its places run out, and has every image until then', () => {
  const store = imageStore({ fd: null, slabBytes: SLAB_BYTES });
  const last = (): number => store.size - 1;
  let nearlyFullAt = 0;
  // Each has a slab of its own.
  const fill = () => {
    for (let i = 0; i < 132_000; i++) {
      store.set(`${i}`, Buffer.alloc(300, i % 251));
      if (nearlyFullAt === 0 && store.isNearlyFull) nearlyFullAt = i;
    }
  };
  expect(fill).toThrow(expect.objectContaining({ code: 'STATE_TOO_LARGE' }));
  expect([nearlyFullAt, last()]).toEqual([130_046, 131_054]);
  for (let i = 0; i <= last(); i++)
    if (!store.get(`${i}`)!.equals(Buffer.alloc(300, i % 251))) throw new Error(`image ${i} is another`);
  expect(store.find('131055')).toBe(-1);

  for (let i = 0; i < 1_100; i++) store.delete(`${i}`);
  expect(store.isNearlyFull).toBe(false);
  store.set('again', Buffer.alloc(300, 1));
  expect(store.get('again')).toEqual(Buffer.alloc(300, 1));
});

it('tells records apart whose ids have the same hashes', () => {
  const [a, b] = ['id 2mm3v', 'id 3io1g'];
  const store = imageStore({ fd: newFile(), slabBytes: SLAB_BYTES });
  store.set(a, Buffer.from('image of a'));
  expect([store.find(b), store.get(b)]).toEqual([-1, undefined]);
  store.set(b, Buffer.from('image of b'), { isUnshown: true });
  expect(store.find(a)).not.toBe(store.find(b));
  expect([String(store.get(a)), String(store.get(b))]).toEqual(['image of a', 'image of b']);
  expect([store.isUnshown(a), store.isUnshown(b)]).toEqual([false, true]);
  store.forgetWitnessed();
  store.witness(b);
  store.see(a, 7);
  expect([a, b].map((id) => store.isWitnessed(store.find(id)))).toEqual([false, true]);
  expect([a, b].map((id) => store.seenAt(store.find(id)))).toEqual([7, null]);
  store.delete(a);
  expect([store.find(a), String(store.get(b))]).toEqual([-1, 'image of b']);
});

// The first pairs with an equal half among the SHA-256 of 'image 0', 'image 1', and so on.
it.each([
  ['low', 'image 9808', 'image 45671'],
  ['high', 'image 19954', 'image 30405'],
])('tells images apart whose hashes have the same %s half', (_, image, other) => {
  const store = imageStore();
  store.set('a', Buffer.from(image));
  expect([image, other].map((text) => store.isSame('a', Buffer.from(text)))).toEqual([true, false]);
});

describe('a file', () => {
  function filled(onWriteError = (_: Error | null) => {}) {
    const fd = newFile();
    const store = imageStore({ fd, slabBytes: SLAB_BYTES, onWriteError });
    for (let i = 0; i < 100; i++) store.set(`id-${i}`, Buffer.alloc(60, i));
    return { fd, store };
  }
  const damaged = expect.objectContaining({ code: 'STATE_FILE_DAMAGED' });

  it('that was cut is named, and nothing is taken for gone', () => {
    const { fd, store } = filled();
    ftruncateSync(fd, 0);
    expect(() => store.find('id-0')).toThrow(damaged);
    expect(() => store.set('id-0', Buffer.alloc(60))).toThrow(damaged);
    expect(store.find('unknown')).toBe(-1);
  });

  it('with other bytes is named, wherever they are', () => {
    for (const at of [0, 1, 3, 4, 7, 8, 11, 12, 16, 18, 50]) {
      const { fd, store } = filled();
      writeSync(fd, Buffer.from([0xaa]), 0, 1, at);
      const first = store.find('id-1'); // is in the next entry
      expect(store.imageOf(first)).toEqual(Buffer.alloc(60, 1));
      expect(() => store.get('id-0')).toThrow(damaged);
    }
  });

  it('with other bytes is named when images are moved, or read in the order in which they lie', () => {
    const { fd, store } = filled();
    writeSync(fd, Buffer.from([0xaa]), 0, 1, 50);
    expect(() => [...store.stored()]).toThrow(damaged);
    // Images are moved when less than half of their slab is left.
    const deleteMost = () => {
      for (let i = 1; i < 8; i++) store.delete(`id-${i}`);
    };
    expect(deleteMost).toThrow(damaged);
  });

  it('that is closed is neither written nor read, whatever has its descriptor now', () => {
    const file = path.join(folder, 'closed');
    const fd = openSync(file, 'wx+');
    const store = imageStore({ fd, slabBytes: SLAB_BYTES, close: () => closeSync(fd) });
    for (let i = 0; i < 100; i++) store.set(`id-${i}`, Buffer.alloc(60, i));
    store.close();
    store.close();
    const other = newFile();
    expect(other).toBe(fd);
    for (let i = 0; i < 100; i++) store.set(`new-${i}`, Buffer.alloc(60, i));
    expect(fstatSync(other).size).toBe(0);
    expect(() => store.get('id-0')).toThrow(damaged);
  });

  it('that cannot be written leaves images in memory, and says so once', () => {
    const said: (string | null)[] = [];
    const fd = openSync(path.join(folder, 'read-only'), 'wx');
    closeSync(fd);
    const readOnly = openSync(path.join(folder, 'read-only'), 'r');
    fds.push(readOnly);
    const onWriteError = (error: Error | null) => said.push(error === null ? null : error.message);
    const store = imageStore({ fd: readOnly, slabBytes: SLAB_BYTES, onWriteError });
    for (let i = 0; i < 100; i++) store.set(`id-${i}`, Buffer.alloc(60, i));
    for (let i = 0; i < 100; i++) expect(store.get(`id-${i}`)).toEqual(Buffer.alloc(60, i));
    expect(said).toEqual([expect.stringContaining('EBADF')]);
  });
});
