import { type FeedName, feedNames, type JsonRecord } from '../../../src/simulator/endpoints';
import type { SimulatorOptions } from '../../../src/simulator/simulator';
import { testFeed } from '../../support/feeds';
import { testPipeline } from '../../support/pipeline';
import { fieldPaths } from '../../support/schema-versions';
import { withSimulator } from './ask';

const now = Date.UTC(2026, 0, 5, 12);
const options: SimulatorOptions = { clock: () => now, records: { insights: 300, analysts: 120, ipos: 400 } };

async function generated(more: SimulatorOptions = {}): Promise<Record<FeedName, JsonRecord[]>> {
  const records: Record<FeedName, JsonRecord[]> = { insights: [], analysts: [], ipos: [] };
  await withSimulator({ ...options, ...more }, async (simulator) => {
    for (const feed of ['insights', 'analysts', 'ipos'] as const) {
      records[feed] = [...simulator.truth(feed).values()];
    }
  });
  return records;
}

/** Dotted paths of all members. */
const pathsOf = (record: JsonRecord): string[] =>
  Object.entries(record).flatMap(([name, value]) => {
    const isRecord = typeof value === 'object' && !Array.isArray(value);
    const within = isRecord ? pathsOf(value as JsonRecord) : [];
    return [name, ...within.map((path) => `${name}.${path}`)];
  });

const values = (records: JsonRecord[], member: string) => new Set(records.map((record) => record[member]));

describe('generated records', () => {
  it.each(feedNames)(
    'have every member of the schema of %s, each of its type, and no other',
    async (feed) => {
      const { codec, decode } = await testPipeline(testFeed(feed));
      const rows = (await generated())[feed];
      const { records, rejected } = decode(rows);
      expect([records.length, rejected]).toEqual([options.records![feed], []]);
      for (const { values } of records) expect(values.extra).toEqual({});
      const members = new Set(rows.flatMap((row) => pathsOf(row)));
      expect([...members].sort()).toEqual(['id', 'updated', ...fieldPaths(codec.schemas.record)].sort());
    },
  );

  it('cover what has been seen: statuses, date forms, scales, unknowns', async () => {
    const { insights, analysts, ipos } = await generated();
    expect([...values(ipos, 'deal_status')].sort()).toEqual([
      'Amended',
      'Closed',
      'Initial Filing',
      'Postponed',
      'Priced',
      'Rumored',
      'Withdrawn',
    ]);
    const forms = [/^\d{4}-\d{2}-\d{2}$/, /^\d{4}-\d{2}$/, /^\d{4}-Q[1-4]$/, /^\d{4}$/];
    for (const form of forms) expect(ipos.some(({ date }) => form.test(String(date)))).toBe(true);
    expect(ipos.every(({ date }) => forms.some((form) => form.test(String(date))))).toBe(true);
    expect(ipos.some((record) => !('notes' in record))).toBe(true);
    expect(values(ipos, 'sic').has(0)).toBe(true);
    const scales = new Set(insights.map(({ pt }) => String(pt).split('.')[1]?.length));
    expect([...scales].sort()).toEqual([1, 2, 4, undefined]);
    const losses = analysts.map(
      ({ ratings_accuracy }) => '9m_loss_count' in (ratings_accuracy as JsonRecord),
    );
    expect(new Set(losses)).toEqual(new Set([true, false]));
  });

  it('agree with each other: an insight is by an analyst of the roster and of that firm', async () => {
    const { insights, analysts } = await generated();
    const roster = new Map(analysts.map((record) => [record.id, record]));
    expect(insights).not.toEqual([]);
    for (const insight of insights) {
      expect(roster.get(insight.analyst_id)).toMatchObject({
        firm_id: insight.firm_id,
        firm_name: insight.firm,
      });
    }
  });

  it('are the same for the same seed, and others for another', async () => {
    const [first, again, other] = [
      await generated({ seed: 5 }),
      await generated({ seed: 5 }),
      await generated({ seed: 6 }),
    ];
    expect(again).toEqual(first);
    expect(other.ipos[0]).not.toEqual(first.ipos[0]);
  });

  it('have the wanted length', async () => {
    const lengths = (records: JsonRecord[]) => records.map((record) => JSON.stringify(record).length);
    const average = (list: number[]) => list.reduce((sum, length) => sum + length, 0) / list.length;
    const usual = await generated();
    expect(average(lengths(usual.ipos))).toBeGreaterThan(1340);
    expect(average(lengths(usual.ipos))).toBeLessThan(1480);
  });

  it('lie in the past, as far and as densely as asked, with a cluster in one second', async () => {
    const { ipos } = await generated({
      spreadDays: 10,
      perSecond: 4,
      newestSecondsAgo: 500,
      cluster: { feed: 'ipos', size: 150, secondsAgo: 900 },
    });
    const seconds = ipos.map(({ updated }) => updated as number);
    expect(Math.max(...seconds)).toBeLessThanOrEqual(now / 1000 - 500);
    expect(Math.min(...seconds)).toBeGreaterThan(now / 1000 - 500 - 11 * 86_400);
    expect(seconds.filter((second) => second === now / 1000 - 900)).toHaveLength(150);
    expect(new Set(seconds).size).toBeLessThan(110);
  });
});
