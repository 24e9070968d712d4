import { datesKept, refuseEnd } from '../../../../src/cli/init/address';

const url = (query: string) => new URL(`https://shop.example/orders?${query}`);

describe('refuseEnd', () => {
  it.each([
    'end_date=2026-11-29',
    'to=2026-11-29T10:00:00Z',
    'toDate=11/29/2026',
    'dateTo=20261129',
    'enddatetime=2026-11-29',
    'until=1795910400',
    'before=1795910400000',
    'updated_max=2026-11-29 10:00',
    'created_at_max=2026-11-29',
    'filter[to]=2026-11-29',
    'updated%5Blte%5D=1795910400.5',
    'updated_at.lt=2026-11-29',
    'modifiedBefore=2026-11-29',
    'latest=1795910400.000200',
    'state=open&createdTo=2026-11-29',
  ])('refuses %s, which ends the range of time', (query) => {
    const name = decodeURIComponent(query.split('&').at(-1)!.split('=')[0]!);
    expect(() => refuseEnd(url(query))).toThrow(
      expect.objectContaining({
        code: 'USAGE_INVALID',
        message: expect.stringContaining(name),
        now: 'Nothing was asked or written.',
        remedy: expect.stringMatching(/^Leave it out\. .* highwater\.yaml, .* query\.$/),
      }),
    );
  });

  it.each([
    'end_date=2099-12-31',
    'to=1795910400',
    'sold_to=1795910400',
    'max_id=1795910400',
    'price_max=1795910400',
    'start_date=2026-01-01',
    'from=1795910400',
    'to=alice',
    'ending_before=ch_1795910400',
    'max=100',
    'endpoint=2026-11-29',
    'total=1795910400',
    'account=1795910400',
    'tomorrow=2026-11-29',
  ])('takes %s', (query) => {
    expect(() => refuseEnd(url(query))).not.toThrow();
  });
});

describe('datesKept', () => {
  it('names the parameters whose value has a date', () => {
    const query = {
      state: 'open',
      start_date: '2026-01-01',
      q: 'updated:>2026-01-01',
      account: '1795910400',
    };
    expect(datesKept(query)).toEqual(['start_date=2026-01-01', 'q=updated:>2026-01-01']);
  });
});
