import type { FeedName, JsonRecord } from '../../../src/simulator/endpoints';
import type { Simulator } from '../../../src/simulator/simulator';
import { ask, fill, page, withSimulator } from './ask';

const records = { insights: 40, analysts: 40, ipos: 40 };
const rows = (simulator: Simulator, feed: FeedName) => page(simulator, feed, 0, 1000);

describe('drift', () => {
  it('brings unknown members', () =>
    withSimulator({ records, behaviour: { drift: { members: 1 } } }, async (simulator) => {
      for (const row of await rows(simulator, 'ipos')) expect(row).toHaveProperty('cusip');
      for (const row of await rows(simulator, 'insights')) expect(row).toHaveProperty('security.cusip');
      for (const row of await rows(simulator, 'analysts')) {
        expect(row.ratings_accuracy).toMatchObject({
          rank: 117,
          '6m_average_return': '3.20',
          '1y_gain_count': 6,
        });
      }
    }));

  it('brings values of other types', () =>
    withSimulator({ records, behaviour: { drift: { types: 1 } } }, async (simulator) => {
      for (const row of await rows(simulator, 'ipos')) {
        expect([typeof row.insider_lockup_days, typeof row.offering_value, typeof row.notes]).toEqual([
          'string',
          'string',
          'boolean',
        ]);
      }
      for (const row of await rows(simulator, 'insights')) expect(row.analyst_insights).toBe(false);
      for (const row of await rows(simulator, 'analysts')) expect(row.firm_name).toBe(true);
    }));

  it('falls on its share of the records, always the same ones', () =>
    withSimulator({ records: { ipos: 400 }, behaviour: { drift: { members: 0.25 } } }, async (simulator) => {
      const drifted = async () =>
        (await rows(simulator, 'ipos')).filter((row) => 'cusip' in row).map(({ id }) => id);
      const before = await drifted();
      expect(before.length).toBeGreaterThan(60);
      expect(before.length).toBeLessThan(140);
      for (const key of simulator.stores.ipos.keys()) simulator.stores.ipos.touch(key, 2_000_000_000);
      expect((await drifted()).sort()).toEqual(before.sort());
    }));

  it('leaves out ids and updated, and tells them from usable records', () =>
    withSimulator(
      { records: { ipos: 300 }, behaviour: { drift: { withoutId: 0.1, withoutUpdated: 0.1 } } },
      async (simulator) => {
        const shown = await rows(simulator, 'ipos');
        const lacking = shown.filter((row) => row.id === undefined || row.updated === undefined);
        expect(shown).toHaveLength(300);
        expect(lacking.some((row) => row.id === undefined)).toBe(true);
        expect(lacking.some((row) => row.updated === undefined)).toBe(true);
        expect(simulator.truth('ipos').size).toBe(300 - lacking.length);
        expect(simulator.stores.ipos.unusable()).toEqual(lacking);
        // The server still knows what it does not show.
        for (const key of simulator.stores.ipos.keys()) {
          expect(simulator.stores.ipos.get(key)).toMatchObject({ id: key, updated: expect.any(Number) });
        }
      },
    ));

  it('writes updated in milliseconds, and goes on ordering by seconds', () =>
    withSimulator({ behaviour: { drift: { milliseconds: 1 } } }, async (simulator) => {
      fill(simulator, [1_700_000_002, 1_700_000_001]);
      simulator.behave({ drift: { milliseconds: 0 } });
      simulator.stores.ipos.upsert({ id: 'plain', updated: 1_700_000_001 });
      simulator.stores.ipos.upsert({ id: 'given', updated: 1_700_000_001_500 });
      expect((await page(simulator, 'ipos', 0, 10, 1_700_000_001)).map(({ updated }) => updated)).toEqual([
        1_700_000_001_000, 1_700_000_001, 1_700_000_001_500, 1_700_000_002_000,
      ]);
    }));

  it('shows what it is given as updated, even when that is no number', () =>
    withSimulator({}, async (simulator) => {
      simulator.stores.ipos.upsert({ id: 'a', updated: null });
      simulator.stores.ipos.upsert({ updated: 1000 });
      expect(await (await ask(simulator, 'ipos', { 'parameters[updated]': 0 })).json()).toEqual({
        ipos: [{ updated: 1000 }, { id: 'a', updated: null }],
      });
      expect(simulator.truth('ipos').size).toBe(0);
    }));

  it('leaves out zero counts of analysts, unless told to show them', () =>
    withSimulator({}, async (simulator) => {
      const ratings_accuracy = { '9m_loss_count': 0, '1y_loss_count': 2, smart_score: '0.0' };
      const accuracy = async () => (await rows(simulator, 'analysts'))[0]!.ratings_accuracy;
      simulator.stores.analysts.upsert({ id: 'a', ratings_accuracy });
      expect(await accuracy()).toEqual({ '1y_loss_count': 2, smart_score: '0.0' });
      simulator.behave({ drift: { leaveOutZeroCounts: false } });
      simulator.stores.analysts.upsert({ id: 'a', ratings_accuracy });
      expect(await accuracy()).toEqual(ratings_accuracy);
      expect(ratings_accuracy['9m_loss_count']).toBe(0);
    }));

  it('writes decimals with another scale: other text, equal number', () =>
    withSimulator({}, async (simulator) => {
      const { insights } = simulator.stores;
      insights.upsert({ id: 'a', pt: '110.00', rating: '5.00', date: '2026-01-05', updated: 1000 });
      for (let i = 0; i < 20; i++) {
        const before = insights.get('a')!;
        insights.rescale('a');
        const after = insights.get('a')!;
        expect(after.pt).not.toBe(before.pt);
        expect(Number(after.pt)).toBe(110);
        expect(after.rating).toBe('5.00');
      }
      simulator.behave({ drift: { scale: 1 } });
      insights.touch('a');
      expect(Number(insights.get('a')!.pt)).toBe(110);
    }));

  it('ends texts in half a surrogate pair', () =>
    withSimulator({ records: { ipos: 3 }, behaviour: { drift: { surrogates: 1 } } }, async (simulator) => {
      for (const row of await rows(simulator, 'ipos')) expect(row.description).toMatch(/[^\ud83d]\ud83d$/);
    }));

  it('nests a member deeply', () =>
    withSimulator({ records: { ipos: 3 }, behaviour: { drift: { deep: 1 } } }, async (simulator) => {
      for (const row of await rows(simulator, 'ipos'))
        expect(JSON.stringify(row.tree)).toBe('['.repeat(600) + ']'.repeat(600));
      expect([...simulator.stores.ipos.truth()]).toStrictEqual([]);
      expect(simulator.stores.ipos.unusable()).toHaveLength(3);
    }));

  it('changes records silently by a rewrite', () =>
    withSimulator({ records: { ipos: 10 } }, async (simulator) => {
      const before = await rows(simulator, 'ipos');
      simulator.behave({ drift: { members: 1 } });
      expect(await rows(simulator, 'ipos')).toEqual(before);
      simulator.stores.ipos.rewrite();
      const after = await rows(simulator, 'ipos');
      const byId = new Map(before.map((row) => [row.id, row as JsonRecord]));
      expect(after).toHaveLength(10);
      for (const { cusip, links, ...row } of after) expect(row).toEqual(byId.get(row.id));
    }));

  it('does not touch records that lack what it changes', () =>
    withSimulator(
      { behaviour: { drift: { members: 1, types: 1, scale: 1, surrogates: 1 } } },
      async (simulator) => {
        for (const feed of ['insights', 'analysts', 'ipos'] as const) {
          fill(simulator, [1000], feed);
          expect(await rows(simulator, feed)).toHaveLength(1);
        }
      },
    ));
});
