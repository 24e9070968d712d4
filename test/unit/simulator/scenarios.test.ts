import { type FeedName, feedNames } from '../../../src/simulator/endpoints';
import { scenarioNames, scenarios } from '../../../src/simulator/scenarios';
import type { SimulatorOptions } from '../../../src/simulator/simulator';
import { withSimulator } from './ask';

/** A tenth of a scenario's records: it starts alike, in a tenth of the time. */
function tenthOf(records: Readonly<Record<FeedName, number>>): Record<FeedName, number> {
  return {
    insights: records.insights / 10,
    analysts: records.analysts / 10,
    ipos: records.ipos / 10,
  };
}

describe('scenarios', () => {
  it.each(scenarioNames.filter((name) => name !== 'large'))(
    '%s has more than 100 records of each feed, and starts',
    async (name) => {
      const { options, description } = scenarios[name];
      const records = tenthOf(options.records);
      const { cluster } = options as SimulatorOptions;
      const more = cluster === undefined ? {} : { cluster: { ...cluster, size: cluster.size / 10 } };
      await withSimulator({ ...options, records, ...more }, async (simulator) => {
        for (const feed of feedNames) {
          expect(options.records[feed]).toBeGreaterThan(100);
          expect(simulator.stores[feed].size).toBeGreaterThanOrEqual(records[feed]);
        }
      });
      expect(description).not.toContain('\n');
    },
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
