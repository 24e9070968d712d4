import type { Simulator } from '../../../src/simulator/simulator';
import { page, withSimulator } from './ask';

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
