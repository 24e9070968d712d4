import { scenarioNames, scenarios } from '../../../src/simulator/scenarios';
import { withSimulator } from './ask';

describe('scenarios', () => {
  it.each(scenarioNames.filter((name) => name !== 'large'))(
    '%s starts, holds records and can be asked',
    (name) =>
      withSimulator({ ...scenarios[name].options }, async (simulator) => {
        for (const feed of ['insights', 'analysts', 'ipos'] as const) {
          expect(simulator.stores[feed].size).toBeGreaterThan(100);
        }
        expect(scenarios[name].description).not.toContain('\n');
      }),
  );

  it('one-second has 5,000 IPOs in one second', () =>
    withSimulator({ ...scenarios['one-second'].options }, async (simulator) => {
      const counts = new Map<number, number>();
      for (const { updated } of simulator.stores.ipos.view().byUpdated) {
        counts.set(updated, (counts.get(updated) ?? 0) + 1);
      }
      expect(Math.max(...counts.values())).toBeGreaterThanOrEqual(5000);
    }));
});
