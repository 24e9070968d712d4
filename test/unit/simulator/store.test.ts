import { fill, ids, page, seconds, withSimulator } from './ask';

describe('the store', () => {
  it('shows what was written last, moves it by updated, and removes', () =>
    withSimulator({}, async (simulator) => {
      const { ipos } = simulator.stores;
      fill(simulator, [1000, 1001, 1002]);
      ipos.upsert({ id: 'r1', updated: 1001, name: 'again' });
      expect(ids(await page(simulator, 'ipos', 0, 10))).toEqual(['r2', 'r1', 'r3']);
      expect(ipos.touch('r2', 1005)).toBe(true);
      expect(await page(simulator, 'ipos', 0, 10, 1005)).toEqual([
        { id: 'r2', date: '2026-01-05', updated: 1005 },
      ]);
      expect(ipos.remove('r3')).toBe(true);
      expect(ipos.remove('r3')).toBe(false);
      expect(ipos.touch('r3')).toBe(false);
      expect(ids(await page(simulator, 'ipos', 0, 10))).toEqual(['r1', 'r2']);
      expect(ipos.size).toBe(2);
      expect(simulator.truth('ipos')).toEqual(
        new Map([
          ['r1', { id: 'r1', updated: 1001, name: 'again' }],
          ['r2', { id: 'r2', date: '2026-01-05', updated: 1005 }],
        ]),
      );
    }));

  it('keeps every version with its time', async () => {
    let now = 5_000_000;
    await withSimulator({ clock: () => now }, async (simulator) => {
      const { ipos } = simulator.stores;
      ipos.upsert({ id: 'a', updated: 1000 });
      now += 1000;
      ipos.touch('a');
      now += 1000;
      ipos.remove('a');
      expect(simulator.history('ipos')).toEqual([
        { atMs: 5_000_000, id: 'a', record: { id: 'a', updated: 1000 }, visibleFromMs: 5_000_000 },
        { atMs: 5_001_000, id: 'a', record: { id: 'a', updated: 5001 }, visibleFromMs: 5_001_000 },
        { atMs: 5_002_000, id: 'a', record: null, visibleFromMs: 5_002_000 },
      ]);
      expect(simulator.history('ipos', 2)).toHaveLength(1);
      expect(simulator.truth('ipos').size).toBe(0);
    });
  });

  it('shows rows late, and their former version until then', async () => {
    let now = 5_000_000;
    await withSimulator({ clock: () => now, records: {} }, async (simulator) => {
      const { ipos } = simulator.stores;
      ipos.upsert({ id: 'a', name: 'first' });
      simulator.behave({ visibilityDelay: 4 });
      ipos.upsert({ id: 'a', name: 'second' });
      ipos.upsert({ id: 'b', name: 'new' });
      const names = async () => (await page(simulator, 'ipos', 0, 10)).map(({ name }) => name);
      expect(await names()).toEqual(['first']);
      expect(ipos.get('a')).toMatchObject({ name: 'second' });
      now += 3999;
      expect(await names()).toEqual(['first']);
      now += 1;
      expect(await names()).toEqual(['second', 'new']);
      // It comes with the second in which it was written: behind what a reader may have seen by now.
      expect(seconds(await page(simulator, 'ipos', 0, 10))).toEqual([5000, 5000]);
      expect(simulator.history('ipos').map(({ visibleFromMs }) => visibleFromMs)).toEqual([
        5_000_000, 5_004_000, 5_004_000,
      ]);
    });
  });

  it('never falls back to a delayed version that a later write has overtaken', async () => {
    let now = 5_000_000;
    await withSimulator({ clock: () => now }, async (simulator) => {
      simulator.behave({ visibilityDelay: 10 });
      simulator.stores.ipos.upsert({ id: 'a', name: 'delayed' });
      simulator.stores.ipos.upsert({ id: 'gone', name: 'delayed' });
      simulator.behave({ visibilityDelay: 0 });
      simulator.stores.ipos.upsert({ id: 'a', name: 'later' });
      expect(simulator.stores.ipos.get('a')).toMatchObject({ name: 'later' });
      expect(simulator.stores.ipos.remove('gone')).toBe(true);
      now += 20_000;
      expect(await page(simulator, 'ipos', 0, 10)).toEqual([{ id: 'a', name: 'later', updated: 5000 }]);
    });
  });

  it('delays only a share of the writes when told', async () => {
    let now = 5_000_000;
    await withSimulator({ clock: () => now }, async (simulator) => {
      simulator.behave({ visibilityDelay: 5, visibilityDelayShare: 0.3 });
      for (let i = 0; i < 200; i++) simulator.stores.ipos.upsert({ id: `a${i}` });
      const before = simulator.stores.ipos.size;
      expect(before).toBeGreaterThan(110);
      expect(before).toBeLessThan(170);
      now += 5000;
      expect(simulator.stores.ipos.size).toBe(200);
    });
  });

  it('moves rows to the end while they are read', () =>
    withSimulator({ behaviour: { moveRowsPerRequest: 2, moveWhich: 'first' } }, async (simulator) => {
      fill(simulator, [1000, 1001, 1002, 1003, 1004, 1005]);
      expect(ids(await page(simulator, 'ipos', 0, 2))).toEqual(['r1', 'r2']);
      // r1 and r2 have moved behind r6: the page that held r3 and r4 now holds r5 and r6.
      expect(ids(await page(simulator, 'ipos', 1, 2))).toEqual(['r5', 'r6']);
      simulator.behave({ moveRowsPerRequest: 0 });
      expect(ids(await page(simulator, 'ipos', 0, 10))).toEqual(['r5', 'r6', 'r1', 'r2', 'r3', 'r4']);
    }));

  it('moves any rows of what was asked for', () =>
    withSimulator({ behaviour: { moveRowsPerRequest: 1 } }, async (simulator) => {
      fill(simulator, [1000, 1001, 1002, 1003]);
      await page(simulator, 'ipos', 0, 1, 1002);
      const [moved] = simulator.history('ipos', 4);
      expect(['r3', 'r4']).toContain(moved!.id);
    }));

  it('holds up with 5,000 records, in order and complete', () =>
    withSimulator({ records: { ipos: 5_000 }, perSecond: 3 }, async (simulator) => {
      const seen = new Set<string>();
      let last = 0;
      for (let number = 0; ; number++) {
        const rows = await page(simulator, 'ipos', number, 1000);
        if (rows.length === 0) break;
        for (const row of rows) {
          expect(row.updated).toBeGreaterThanOrEqual(last);
          last = row.updated;
          seen.add(row.id);
        }
      }
      expect(seen.size).toBe(5_000);
    }));
});
