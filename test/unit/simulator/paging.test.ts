import { fill, ids, page, seconds, withSimulator } from './ask';

const ten = Array.from({ length: 10 }, (_, i) => 1000 + i);
const r = (...numbers: number[]) => numbers.map((number) => `r${number}`);

describe('paging', () => {
  it('counts pages from 0 by default and ends on an empty page', () =>
    withSimulator({}, async (simulator) => {
      fill(simulator, ten);
      expect(ids(await page(simulator, 'ipos', 0, 4))).toEqual(r(1, 2, 3, 4));
      expect(ids(await page(simulator, 'ipos', 1, 4))).toEqual(r(5, 6, 7, 8));
      expect(ids(await page(simulator, 'ipos', 2, 4))).toEqual(r(9, 10));
      expect(ids(await page(simulator, 'ipos', 3, 4))).toStrictEqual([]);
    }));

  it('answers page 0 like page 1 when the first page is 1', () =>
    withSimulator({ behaviour: { firstPage: 1 } }, async (simulator) => {
      fill(simulator, ten);
      expect(ids(await page(simulator, 'ipos', 0, 4))).toEqual(r(1, 2, 3, 4));
      expect(ids(await page(simulator, 'ipos', 1, 4))).toEqual(r(1, 2, 3, 4));
      expect(ids(await page(simulator, 'ipos', 2, 4))).toEqual(r(5, 6, 7, 8));
    }));

  it('takes the page as a record offset', () =>
    withSimulator({ behaviour: { paging: 'offset' } }, async (simulator) => {
      fill(simulator, ten);
      expect(ids(await page(simulator, 'ipos', 1, 4))).toEqual(r(2, 3, 4, 5));
      expect(ids(await page(simulator, 'ipos', 8, 4))).toEqual(r(9, 10));
      simulator.behave({ firstPage: 1 });
      expect(ids(await page(simulator, 'ipos', 0, 2))).toEqual(r(1, 2));
      expect(ids(await page(simulator, 'ipos', 3, 2))).toEqual(r(3, 4));
    }));

  it('caps a page, and steps by the cap or by what was asked', () =>
    withSimulator({ behaviour: { pageCap: 3 } }, async (simulator) => {
      fill(simulator, ten);
      expect(ids(await page(simulator, 'ipos', 0, 5))).toEqual(r(1, 2, 3));
      expect(ids(await page(simulator, 'ipos', 1, 5))).toEqual(r(4, 5, 6));
      expect(ids(await page(simulator, 'ipos', 1, 2))).toEqual(r(3, 4));
      simulator.behave({ capStep: 'asked' });
      expect(ids(await page(simulator, 'ipos', 1, 5))).toEqual(r(6, 7, 8));
    }));

  it('shows the first page for every page when paging is ignored', () =>
    withSimulator({ behaviour: { ignorePaging: true } }, async (simulator) => {
      fill(simulator, ten);
      expect(ids(await page(simulator, 'ipos', 2, 4))).toEqual(r(1, 2, 3, 4));
    }));

  it('clamps a page size above 1000', () =>
    withSimulator({}, async (simulator) => {
      fill(
        simulator,
        Array.from({ length: 1200 }, () => 1000),
      );
      expect(await page(simulator, 'ipos', 0, 5000)).toHaveLength(1000);
    }));

  it('refuses a page above 100000, a position above its limit, and what is no number', () =>
    withSimulator({}, async (simulator) => {
      fill(simulator, ten);
      expect(await page(simulator, 'analysts', 100_000, 10)).toStrictEqual([]);
      await expect(page(simulator, 'analysts', 100_001, 10)).rejects.toThrow('400');
      await expect(page(simulator, 'analysts', 0, 0)).rejects.toThrow('Invalid page size');
      await expect(page(simulator, 'analysts', -1, 10)).rejects.toThrow('400');
      simulator.behave({ positionLimit: 8 });
      expect(ids(await page(simulator, 'ipos', 2, 4))).toEqual(r(9, 10));
      await expect(page(simulator, 'ipos', 3, 4)).rejects.toThrow('400');
    }));
});

describe('updated since', () => {
  it('is inclusive, ascending, ties in the order of writing, on every feed', () =>
    withSimulator({}, async (simulator) => {
      for (const feed of ['insights', 'analysts', 'ipos'] as const) {
        fill(simulator, [1003, 1001, 1002, 1002, 1001], feed);
        expect(ids(await page(simulator, feed, 0, 10))).toEqual(r(2, 5, 3, 4, 1));
        expect(ids(await page(simulator, feed, 0, 10, 1002))).toEqual(r(3, 4, 1));
        expect(ids(await page(simulator, feed, 0, 10, 1004))).toStrictEqual([]);
      }
    }));

  it('comes in another order by switch', () =>
    withSimulator({}, async (simulator) => {
      fill(simulator, [1003, 1001, 1002, 1002, 1001]);
      simulator.behave({ order: 'desc' });
      expect(ids(await page(simulator, 'ipos', 0, 10))).toEqual(r(1, 4, 3, 5, 2));
      expect(ids(await page(simulator, 'ipos', 1, 2))).toEqual(r(3, 5));
      expect(ids(await page(simulator, 'ipos', 0, 10, 1002))).toEqual(r(1, 4, 3));
      simulator.behave({ order: 'insertion' });
      simulator.stores.ipos.touch('r2', 2000);
      expect(ids(await page(simulator, 'ipos', 0, 10, 1002))).toEqual(r(1, 2, 3, 4));
    }));

  it('is shuffled differently at each request, and the same with the same seed', async () => {
    const orders: string[][] = [];
    for (const seed of [7, 7, 8]) {
      await withSimulator({ seed, behaviour: { order: 'shuffled' } }, async (simulator) => {
        fill(simulator, ten);
        const first = ids(await page(simulator, 'ipos', 0, 10));
        const second = ids(await page(simulator, 'ipos', 0, 10));
        expect(first).not.toEqual(second);
        expect([...first].sort()).toEqual(r(1, 2, 3, 4, 5, 6, 7, 8, 9, 10).sort());
        orders.push(first);
      });
    }
    expect(orders[0]).toEqual(orders[1]);
    expect(orders[0]).not.toEqual(orders[2]);
  });

  it('shuffles ties per request over the whole second, and nothing but ties', () =>
    withSimulator({ behaviour: { ties: 'shuffled' } }, async (simulator) => {
      fill(simulator, [...Array(3).fill(1000), ...Array(40).fill(1001), ...Array(3).fill(1002)]);
      const pages = [await page(simulator, 'ipos', 0, 46), await page(simulator, 'ipos', 0, 46)];
      expect(ids(pages[0]!)).not.toEqual(ids(pages[1]!));
      for (const rows of pages) {
        expect(seconds(rows)).toEqual([...seconds(rows)].sort());
        expect(new Set(ids(rows)).size).toBe(46);
      }
      // A page that is a part of the second draws from all of it.
      const drawn = new Set<string>();
      for (let i = 0; i < 80; i++) for (const id of ids(await page(simulator, 'ipos', 1, 5))) drawn.add(id);
      expect(drawn.size).toBe(40);
      simulator.behave({ order: 'desc' });
      const rows = await page(simulator, 'ipos', 0, 46);
      expect(seconds(rows)).toEqual(seconds(rows).sort().reverse());
    }));

  it('is not applied when the filter is ignored', () =>
    withSimulator({ behaviour: { ignoreUpdated: true } }, async (simulator) => {
      fill(simulator, ten);
      expect(ids(await page(simulator, 'ipos', 0, 3, 1009))).toEqual(r(1, 2, 3));
    }));
});
