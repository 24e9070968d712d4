import type { FeedName, JsonRecord } from '../../../src/simulator/endpoints';
import type { SimulatorOptions } from '../../../src/simulator/simulator';
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

const values = (records: JsonRecord[], member: string) => new Set(records.map((record) => record[member]));

describe('generated records', () => {
  it('have every member of the specification, with its type', async () => {
    const { insights, analysts, ipos } = await generated();
    const periods = ['1m', '3m', '9m', '1y', '2y', '3y'];
    const texts = (...names: string[]) => Object.fromEntries(names.map((name) => [name, expect.any(String)]));
    const numbers = (...names: string[]) =>
      Object.fromEntries(names.map((name) => [name, expect.any(Number)]));
    const flags = (...names: string[]) =>
      Object.fromEntries(names.map((name) => [name, expect.any(Boolean)]));
    for (const record of insights) {
      expect(record).toEqual({
        ...texts(
          'action',
          'analyst_id',
          'analyst_insights',
          'date',
          'firm',
          'firm_id',
          'id',
          'pt',
          'rating',
          'rating_id',
        ),
        security: texts('cik', 'exchange', 'isin', 'name', 'symbol'),
        updated: expect.any(Number),
      });
      expect(record.pt).toMatch(/^(\d+\.\d+)?$/);
    }
    for (const { ratings_accuracy, ...record } of analysts) {
      expect(record).toEqual({
        ...texts('firm_id', 'firm_name', 'id', 'name_first', 'name_full', 'name_last'),
        updated: expect.any(Number),
      });
      const accuracy = ratings_accuracy as JsonRecord;
      const counts = [
        '9m_loss_count',
        '1y_loss_count',
        '2y_loss_count',
        '3y_loss_count',
        'overall_loss_count',
      ];
      const { ...rest } = accuracy;
      for (const name of counts) {
        expect(accuracy[name]).not.toBe(0);
        delete rest[name];
      }
      const perPeriod = periods.flatMap((p) =>
        ['average_return', 'smart_score', 'stdev', 'success_rate'].map((n) => `${p}_${n}`),
      );
      expect(rest).toEqual({
        ...texts(...perPeriod, 'overall_average_return', 'overall_avg_return_percentile', 'overall_stdev'),
        ...texts('overall_success_rate', 'smart_score', 'total_ratings_percentile'),
        total_ratings: expect.any(Number),
      });
    }
    for (const record of ipos) {
      expect({ notes: '', ...record }).toEqual({
        ...texts('id', 'name', 'ticker', 'exchange', 'currency', 'date', 'time', 'deal_status', 'ipo_type'),
        ...texts('description', 'notes', 'initial_filing_date', 'pricing_date', 'insider_lockup_date'),
        ...texts(
          'underwriter_quiet_expiration_date',
          'price_min',
          'price_max',
          'price_open',
          'price_public_offering',
        ),
        ...texts('state_location', 'sec_accession_number', 'sec_filing_url'),
        ...flags('pricing_date_verified', 'open_date_verified', 'spac_converted_to_target'),
        ...numbers('insider_lockup_days', 'underwriter_quiet_expiration_days', 'offering_shares'),
        ...numbers('offering_shares_ord_adr', 'offering_value', 'market_cap_at_offer', 'shares_outstanding'),
        ...numbers('ord_shares_out_after_offer', 'last_yr_income', 'last_yr_income_year', 'last_yr_revenue'),
        ...numbers('last_yr_revenue_year', 'sic', 'updated'),
        lead_underwriters: expect.any(Array),
        other_underwriters: expect.any(Array),
      });
    }
  });

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
