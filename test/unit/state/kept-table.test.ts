import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { GroupChains } from '../../../src/state/group-index';
import { imageFiles } from '../../../src/state/image-file';
import { type ImageStore, imageStore } from '../../../src/state/image-store';
import { type KeptFacts, openTable, tableOf } from '../../../src/state/kept-images';
import { runs } from '../../support/runs';
import { quietLogger } from '../../support/source';

const TOPIC = 'ipos.current';
const SLAB_BYTES = 1024;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'highwater-test-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

const files = () => imageFiles(folder, TOPIC, 'ipos', quietLogger());
const names = () => readdirSync(folder).map((name) => name.replace(/-[0-9a-f-]{36}\./, '.'));
const tableIn = () => path.join(folder, readdirSync(folder).find((name) => name.endsWith('.table'))!);

const rest = {
  ...{
    topic: TOPIC,
    incarnation: 'abcd1234',
    commit: 7,
    ownerEpoch: 'an owner',
    snapshotSeq: 3,
    scopeSeq: 0,
  },
  ...{ end: { topicId: null, offsets: [5], commit: 7 }, partitionCounts: [2], schemaId: 1 },
};

/** A new store in a new file. */
function begin() {
  return { store: imageStore({ ...files().open(), slabBytes: SLAB_BYTES }) };
}

async function keep({ store }: ReturnType<typeof begin>, chains = new GroupChains()): Promise<void> {
  const facts: KeptFacts = {
    ...rest,
    store: store.facts()!,
    groups: [{ transition: 'a transition', facts: chains.heads.facts() }],
  };
  await store.keep(tableOf(facts, [...store.columns, ...chains.columns]));
  store.close();
}

/** What was kept, once. */
async function take() {
  const kept = await files().take();
  if (kept === null) return null;
  const store = imageStore({ ...kept.file, slabBytes: SLAB_BYTES });
  const chains = new GroupChains();
  try {
    const { facts, readColumns } = await openTable(kept.table);
    await readColumns([...store.columns, ...chains.columns]);
    store.restored(facts.store);
    chains.heads.restored(facts.groups[0]!.facts);
    return { store, chains, facts };
  } finally {
    await kept.table.close();
  }
}

const dataOf = ({ heads, columns }: GroupChains) => [
  heads.facts(),
  columns.map((column) => Array.from({ length: column.pieces }, (_, i) => column.piece(i))),
];

const contents = (store: ImageStore) =>
  Object.fromEntries(
    Array.from(store.numbers(), (number) => {
      const id = store.idOf(number);
      const flags = [store.isUnshown(id), store.isOutOfScope(number), store.isWitnessed(number)];
      return [id, [number, String(store.imageOf(number)), store.find(id), ...flags]];
    }),
  );

describe('a state that is kept', () => {
  it('goes on as it was, over any changes and any number of times', async () => {
    await fc.assert(
      fc.asyncProperty(fc.infiniteStream(fc.nat()), async (stream) => {
        const next = (below: number) => (stream.next().value as number) % below;
        let state = begin();
        for (let round = 0; round < 4; round++) {
          for (let i = 0; i < 400; i++) {
            const id = `id-${next(120)}`;
            const length = next(12) === 0 ? 2_000 : next(90);
            if (next(4) === 0) state.store.delete(id);
            else state.store.set(id, Buffer.alloc(length, 97 + next(26)), { isUnshown: next(2) === 0 });
          }
          const { size, bytes } = state.store;
          const before = contents(state.store);
          state.store.forgetWitnessed(); // the log does not know of it
          const chains = new GroupChains();
          for (let i = 0; i < next(50); i++) chains.heads.add(next(1_000), i);
          await keep(state, chains);
          expect(names().sort()).toEqual([`${TOPIC}.images`, `${TOPIC}.table`]);

          const taken = (await take())!;
          expect(names()).toEqual([`${TOPIC}.images`]);
          expect(taken.facts).toMatchObject(rest);
          expect(contents(taken.store)).toEqual(before);
          expect(taken.store).toMatchObject({ size, bytes });
          expect(dataOf(taken.chains)).toEqual(dataOf(chains));
          state = taken;
        }
        for (const number of [...state.store.numbers()]) state.store.delete(state.store.idOf(number));
        expect(state.store).toMatchObject({ size: 0, bytes: 0 });
        expect(state.store.slabBytes).toBeLessThanOrEqual(SLAB_BYTES); // of the slab in use
        state.store.close();
        expect(names()).toStrictEqual([]);
      }),
      { numRuns: runs(10) },
    );
  });

  it('needs no more disk and no more numbers of slabs, however often it is kept', async () => {
    let state = begin();
    const sizes: number[] = [];
    for (let round = 0; round < 20; round++) {
      for (let i = 0; i < 100; i++)
        state.store.set(`id-${i}`, Buffer.alloc(i % 10 === 0 ? 1_500 : 60, round));
      await keep(state);
      state = (await take())!;
      sizes.push(statSync(path.join(folder, readdirSync(folder)[0]!)).size);
    }
    expect(sizes.at(-1)).toBeLessThan(2 * sizes[1]!);
    const indexes = state.store.facts()!.slabs.map(([index]) => index);
    expect(Math.max(...indexes)).toBeLessThan(1.5 * indexes.length);
    state.store.close();
  });

  it('has another name each time, so that a table from a copy of the folder has no images', async () => {
    const state = begin();
    await keep(state);
    const table = tableIn();
    const copy = readFileSync(table);
    const again = (await take())!;
    again.store.set('later', Buffer.from('image'));
    await keep(again);
    rmSync(tableIn());
    writeFileSync(table, copy);
    expect(await take()).toBeNull();
  });

  it('takes no more slabs, however often it is kept with little that is new', async () => {
    let state = begin();
    for (let i = 0; i < 200; i++) state.store.set(`id-${i}`, Buffer.alloc(60));
    for (let round = 0; round < 200; round++) {
      state.store.set(`id-${round}`, Buffer.alloc(60, 1));
      await keep(state);
      state = (await take())!;
    }
    // An entry has 96 bytes. With a file, slabs take at most twice what is live, and a slab or two.
    expect(state.store.slabBytes).toBeLessThanOrEqual(2 * 200 * 96 + 2 * SLAB_BYTES);
    state.store.close();
  });

  it('does not keep slabs in which nothing is live', async () => {
    let state = begin();
    for (let round = 0; round < 100; round++) {
      state.store.set('short-lived', Buffer.alloc(60));
      state.store.delete('short-lived');
      await keep(state);
      state = (await take())!;
    }
    expect(state.store.slabBytes).toBeLessThanOrEqual(2 * SLAB_BYTES);
    state.store.close();
  });

  it('is given once', async () => {
    const state = begin();
    state.store.set('a', Buffer.from('image'));
    await keep(state);
    const taken = await Promise.all([take(), take(), take()]);
    expect(taken.filter((one) => one !== null)).toHaveLength(1);
    expect(await take()).toBeNull();
  });

  it('is not given without its images, nor by what is damaged or of another form', async () => {
    const damages: readonly ((table: string) => void)[] = [
      (table) => rmSync(table.replace(/table$/, 'images')),
      (table) => writeFileSync(table, ''),
      (table) => writeFileSync(table, readFileSync(table).subarray(0, -5)),
      (table) => writeFileSync(table, readFileSync(table).fill(0xaa, readFileSync(table).length - 3)),
      (table) => writeFileSync(table, readFileSync(table).fill(0xaa, 600, 700)),
      (table) => writeFileSync(table, readFileSync(table).fill(0xff, 0, 4)),
      (table) =>
        writeFileSync(table, readFileSync(table, 'latin1').replace(/"form":\d+/, '"form":9'), 'latin1'),
    ];
    for (const damage of damages) {
      const state = begin();
      state.store.set('a', Buffer.from('image'));
      await keep(state);
      damage(tableIn());
      expect(await take().catch(() => null)).toBeNull();
    }
  });

  it('is not written when the file is damaged, or does not have all images', async () => {
    const { store } = begin();
    for (let i = 0; i < 100; i++) store.set(`id-${i}`, Buffer.alloc(60, i));
    writeFileSync(path.join(folder, readdirSync(folder)[0]!), '');
    expect(() => store.get('id-0')).toThrow(expect.objectContaining({ code: 'STATE_FILE_DAMAGED' }));
    expect(store.facts()).toBeNull();
    store.close();

    const name = path.join(folder, 'read-only');
    writeFileSync(name, '');
    const fd = openSync(name, 'r');
    const other = imageStore({ fd, slabBytes: SLAB_BYTES });
    other.set('a', Buffer.from('image'));
    expect(other.facts()).toBeNull();
    closeSync(fd);
    expect(imageStore().facts()).toEqual(expect.objectContaining({ slabs: [] }));
  });
});

describe('the files of a feed', () => {
  it('of an owner that was killed go when the next one begins, and those of other feeds stay', () => {
    files().open();
    writeFileSync(path.join(folder, `${TOPIC}-${'0'.repeat(36)}.table.new`), '');
    const others = [`other-${TOPIC}`, `${TOPIC}-other`, 'highwater.db'];
    for (const name of others) writeFileSync(path.join(folder, `${name}-${'0'.repeat(36)}.images`), '');
    files().open();
    expect(names().sort()).toEqual([`${TOPIC}.images`, ...others.map((name) => `${name}.images`)].sort());
  });

  it('of two owners in one folder: the one that ends need not warn that the other has begun', async () => {
    const logger = quietLogger();
    const file = imageFiles(folder, TOPIC, 'ipos', logger).create();
    const next = files();
    const table = function* () {
      next.open();
      yield Buffer.from('table');
    };
    await file.keep(table());
    file.close();
    expect(logger.warnings).toStrictEqual([]);
  });

  it('a table without images goes when another is taken', async () => {
    writeFileSync(path.join(folder, `${TOPIC}-${'0'.repeat(36)}.table`), '');
    const stem = path.join(folder, `${TOPIC}-${'1'.repeat(36)}`);
    for (const kind of ['images', 'table']) writeFileSync(`${stem}.${kind}`, '');
    const taken = (await files().take())!;
    await taken.table.close();
    expect(names()).toStrictEqual([`${TOPIC}.images`]);
    taken.file.close!();
  });

  it('can be removed under an owner, who goes on and keeps nothing', async () => {
    const state = begin();
    state.store.set('a', Buffer.from('image'));
    for (const name of readdirSync(folder)) rmSync(path.join(folder, name));
    for (let i = 0; i < 100; i++) state.store.set(`id-${i}`, Buffer.alloc(60, i));
    expect(String(state.store.get('a'))).toBe('image');
    await keep(state);
    expect(await take()).toBeNull();
    expect(names()).toStrictEqual([]);
    files().open();
    expect(names()).toStrictEqual([`${TOPIC}.images`]);
  });

  it('have names that a file system takes, however long the topic’s is', () => {
    const file = imageFiles(folder, 'x'.repeat(249), 'ipos', quietLogger()).create();
    expect(file.fd).not.toBeNull();
    file.close();
  });
});
