import type { JsonRecord } from '../../../src/simulator/endpoints';
import type { Simulator } from '../../../src/simulator/simulator';
import { fill, page, withSimulator } from './ask';

const records = { insights: 200, analysts: 80, ipos: 150 };

function steps(simulator: Simulator, count: number): string[] {
  return Array.from({ length: count }, () => simulator.marketDay.step());
}

describe('the market day', () => {
  it('opens with an upgrade and a withdrawal within four events, and shows them in the API', () =>
    withSimulator({ records }, async (simulator) => {
      const since = Math.floor(Date.now() / 1000);
      const told = steps(simulator, 4);
      expect(told.some((text) => text.includes(' upgrades '))).toBe(true);
      expect(told.some((text) => text.startsWith('IPO withdrawn: '))).toBe(true);
      expect(await page(simulator, 'insights', 0, 10, since)).toEqual(
        expect.arrayContaining([expect.objectContaining({ action: 'Upgrades' })]),
      );
      expect(await page(simulator, 'ipos', 0, 10, since)).toEqual(
        expect.arrayContaining([expect.objectContaining({ deal_status: 'Withdrawn' })]),
      );
    }));

  it('makes every kind of thing happen', () =>
    withSimulator({ records }, async (simulator) => {
      const told = steps(simulator, 600);
      for (const kind of [
        / upgrades /,
        / downgrades /,
        / reiterates /,
        / initiates coverage on /,
        /^Insight corrected/,
        /^Old insight edited/,
        /^IPO filed/,
        /^IPO amended/,
        /^IPO priced/,
        /^IPO closed/,
        /^IPO postponed/,
        /^IPO withdrawn/,
        /^Accuracy recalculated/,
        /^Touched without a change/,
      ]) {
        expect(told.some((text) => kind.test(text))).toBe(true);
      }
    }));

  it('moves the target of the latest insight of a firm in the direction of its rating', () =>
    withSimulator({ records }, async (simulator) => {
      const groupOf = ({ security, firm_id }: JsonRecord) => `${(security as JsonRecord).symbol} ${firm_id}`;
      const latest = new Map<string, JsonRecord>();
      const byDate = [...simulator.truth('insights').values()].sort(
        (a, b) => String(a.date).localeCompare(String(b.date)) || Number(a.updated) - Number(b.updated),
      );
      for (const one of byDate) latest.set(groupOf(one), one);
      let moved = 0;
      for (let step = 0; step < 300; step++) {
        const known = new Set(simulator.truth('insights').keys());
        const told = simulator.marketDay.step();
        for (const [id, after] of simulator.truth('insights')) {
          if (known.has(id)) continue;
          const before = latest.get(groupOf(after));
          latest.set(groupOf(after), after);
          const sign = / upgrades /.test(told) ? 1 : / downgrades /.test(told) ? -1 : 0;
          if (sign === 0 || before === undefined || before.pt === '') continue;
          moved++;
          expect([told, sign * (Number(after.pt) - Number(before.pt)) >= 0]).toEqual([told, true]);
          expect(after.rating).not.toBe(before.rating);
        }
      }
      expect(moved).toBeGreaterThan(20);
    }));

  it('is the same for the same seed', async () => {
    const days: string[][] = [];
    for (const seed of [1, 1, 2]) {
      await withSimulator({ records, seed, clock: () => Date.UTC(2026, 0, 5) }, async (simulator) => {
        days.push(steps(simulator, 50));
      });
    }
    expect(days[0]).toEqual(days[1]);
    expect(days[0]).not.toEqual(days[2]);
  });

  it('corrects an insight by a new id with the same rating id', () =>
    withSimulator({ records }, async (simulator) => {
      let before = simulator.truth('insights');
      for (;;) {
        const told = simulator.marketDay.step();
        const after = simulator.truth('insights');
        if (told.startsWith('Insight corrected')) {
          const [correction] = [...after.values()].filter(({ id }) => !before.has(id as string));
          const same = [...before.values()].filter(({ rating_id }) => rating_id === correction!.rating_id);
          expect(same).toHaveLength(1);
          expect(Number(same[0]!.pt)).not.toBe(Number(correction!.pt));
          return;
        }
        before = after;
      }
    }));

  it('moves updated with every event, so that a reader can see it', () =>
    withSimulator({ records, clock: () => Date.UTC(2026, 0, 5) }, async (simulator) => {
      const before = (['insights', 'analysts', 'ipos'] as const).map(
        (feed) => simulator.history(feed).length,
      );
      steps(simulator, 100);
      const written = (['insights', 'analysts', 'ipos'] as const).flatMap((feed, i) =>
        simulator.history(feed, before[i]),
      );
      expect(written).toHaveLength(100);
      for (const { record } of written) expect(record!.updated).toBe(Date.UTC(2026, 0, 5) / 1000);
    }));

  it('goes on under drift, with bare records and with nothing at all', async () => {
    await withSimulator(
      { records, behaviour: { drift: { members: 0.5, types: 0.5, withoutId: 0.2, withoutUpdated: 0.2 } } },
      async (simulator) => {
        expect(steps(simulator, 300).every((text) => text !== '')).toBe(true);
      },
    );
    await withSimulator({}, async (simulator) => {
      expect(steps(simulator, 100)).toHaveLength(100);
    });
    await withSimulator({}, async (simulator) => {
      for (const feed of ['insights', 'analysts', 'ipos'] as const) fill(simulator, [1000, 1001], feed);
      expect(steps(simulator, 200)).toHaveLength(200);
    });
  });

  it('runs by itself until stopped, telling a listener', () =>
    withSimulator({ records }, async (simulator) => {
      const heard = await new Promise<string[]>((resolve) => {
        const told: string[] = [];
        simulator.marketDay.start(5, (text) => {
          told.push(text);
          if (told.length === 3) {
            simulator.marketDay.stop();
            resolve(told);
          }
        });
      });
      expect(heard[0]).toContain(' upgrades ');
      const written = simulator.history('ipos').length;
      await page(simulator, 'ipos', 0, 1);
      expect(simulator.history('ipos')).toHaveLength(written);
    }));
});
