import { EventHeaders } from '../../../src/pipeline/transaction/encode';
import type { ChangeEvents, TooLarge } from '../../../src/types';
import { version } from '../../../src/version';
import { testFeed } from '../../support/feeds';
import { OBSERVED_AT_MS, type TestPipeline, testPipeline } from '../../support/pipeline';
import { analyst, insight, ipo } from '../../support/records';

const fields = (events: ChangeEvents[]) => events.map(({ change }) => change.changedFields);
const ops = (events: ChangeEvents[]) => events.map(({ change }) => change.op).join('');
const transitions = (events: ChangeEvents[]) =>
  events.flatMap((event) => event.transitions.map(({ value }) => ({ ...value })));

describe('the diff', () => {
  let ipos: TestPipeline;
  let updated = 100;
  const next = (overrides: Record<string, unknown> = {}) =>
    ipos.page([ipo({ updated: ++updated, ...overrides })]);
  beforeEach(async () => {
    ipos = await testPipeline(testFeed('ipos'));
    next();
  });

  it('names what differs, nested by dots, without updated', async () => {
    expect(fields(next({ deal_status: 'Priced', sic: 6770, lead_underwriters: ['Citigroup'] }))).toEqual([
      ['deal_status', 'lead_underwriters', 'sic'],
    ]);
    const insights = await testPipeline(testFeed('insights'));
    insights.page([insight()]);
    const security = { cik: '903651', exchange: 'NYSE', isin: null, name: 'Innodata', symbol: 'INOD' };
    expect(fields(insights.page([insight({ security })]))).toEqual([['security.exchange', 'security.isin']]);
    const analysts = await testPipeline(testFeed('analysts'));
    analysts.page([analyst()]);
    expect(
      fields(
        analysts.page([
          analyst({ ratings_accuracy: { ...(analyst().ratings_accuracy as object), '1m_stdev': '0.1' } }),
        ]),
      ),
    ).toEqual([['ratings_accuracy._1m_stdev']]);
  });

  it.each([
    ['the same again', {}],
    ['only updated moved', { updated: 5_000 }],
    ['decimal text of the same number', { price_public_offering: '10.0' }],
    ['decimal text of the same number, another way', { price_public_offering: '010' }],
    ['an unknown left out', { sic: undefined, ticker: 'SEPGU', notes: undefined }],
    ['a 0 left out', { offering_shares_ord_adr: undefined }],
    ['an empty list left out', { other_underwriters: undefined }],
  ])('is silent: %s', (_name, overrides) => {
    expect(next(overrides)).toStrictEqual([]);
    expect(ipos.state.offset.seq).toBe(1);
  });

  it('a zero count that an analyst’s record leaves out does not change it, another count does', async () => {
    const analysts = await testPipeline(testFeed('analysts'));
    const accuracy = analyst().ratings_accuracy as Record<string, unknown>;
    const { '9m_loss_count': _left, ...without } = accuracy;
    analysts.page([analyst({ ratings_accuracy: { ...accuracy, '9m_loss_count': 0 } })]);
    expect(analysts.page([analyst({ ratings_accuracy: without })])).toStrictEqual([]);
    expect(ops(analysts.page([analyst()]))).toBe('u');
  });

  it('keeps the image as published over a touch: the next before is the last after', () => {
    const [created] = ipos.page([ipo({ id: 'a', updated: 1 })]);
    expect(ipos.page([ipo({ id: 'a', updated: 50, price_public_offering: '10.00' })])).toStrictEqual([]);
    const [moved] = ipos.page([ipo({ id: 'a', updated: 60, deal_status: 'Priced' })]);
    expect(moved!.change.before).toEqual(created!.change.after);
    expect(ipos.images(moved!).before).toMatchObject({ updated: 1, price_public_offering: '10.000' });
  });

  it('publishes what appears in extra, what changes there and what leaves it', () => {
    expect(fields(next({ cusip: { a: 1, b: 2 } }))).toEqual([['extra.cusip']]);
    expect(next({ cusip: { b: 2, a: 1 } })).toStrictEqual([]);
    expect(fields(next({ cusip: { a: 1, b: 3 } }))).toEqual([['extra.cusip']]);
    expect(fields(next({ insider_lockup_days: '180 days' }))).toEqual([
      ['insider_lockup_days', 'extra.cusip', 'extra.insider_lockup_days'],
    ]);
  });
});

describe('an event', () => {
  it('says where it comes from', async () => {
    const ipos = await testPipeline(testFeed('ipos'));
    const [read] = ipos.page([ipo({ id: 'a', updated: 100 })], { snapshot: true });
    const [created] = ipos.page([ipo({ id: 'b', updated: 101 })]);
    const source = {
      connector: 'highwater',
      version,
      name: 'test',
      feed: 'ipos',
      endpoint: testFeed('ipos').path,
      incarnation: 'abcd1234',
    };
    expect(read!.tail).toEqual({
      op: 'r',
      changed_fields: [],
      source: { ...source, updated: 100, ts_ms: 100_000, snapshot: 'true', origin: 'snapshot', seq: 1 },
      ts_ms: OBSERVED_AT_MS,
      event_id: 'ipos:abcd1234:1',
    });
    expect(created!.tail).toMatchObject({
      op: 'c',
      source: { ...source, updated: 101, ts_ms: 101_000, snapshot: 'false', origin: 'poll', seq: 2 },
    });
  });

  it('has the symbol of its record, whichever way the row was read', async () => {
    const odd = { unheard_of: { a: 1 } };
    const symbols = async (feed: 'ipos' | 'analysts' | 'insights', rows: unknown[]) =>
      (await testPipeline(testFeed(feed))).page(rows).map(({ symbol }) => symbol);
    expect(await symbols('ipos', [ipo({ id: 'a' }), ipo({ id: 'b', ...odd })])).toEqual(['SEPGU', 'SEPGU']);
    expect(await symbols('insights', [insight({ id: 'a' }), insight({ id: 'b', ...odd })])).toEqual([
      'INOD',
      'INOD',
    ]);
    expect(await symbols('analysts', [analyst({ id: 'a' }), analyst({ id: 'b', ...odd })])).toEqual([
      null,
      null,
    ]);
  });
});

describe('a log that takes records up to a size', () => {
  /** Whether the events of a page are measured, when the log takes records of `maxBytes`. */
  const isMeasured = (pipeline: TestPipeline, maxBytes: number, row: unknown): boolean => {
    let measured = 0;
    pipeline.page([row], { maxBytes, bytesOf: () => ++measured });
    return measured > 0;
  };
  const leastUnmeasured = (imageBytes: number) => imageBytes * 8 + 64 * 1024;
  const imageBytes = ({ change }: ChangeEvents) => change.after!.length;

  it('has none measured that surely fit: eight times their images, and 64 KB', async () => {
    const [created, updated] = [
      ipo({ id: 'a', deal_status: '' }),
      ipo({ id: 'a', deal_status: '', name: 'Other' }),
    ];
    const one = await testPipeline(testFeed('ipos'));
    const [first, second] = [...one.page([created]), ...one.page([updated])].map(imageBytes) as [
      number,
      number,
    ];
    for (const [enough, isBelow] of [
      [0, false],
      [-1, true],
    ] as const) {
      const ipos = await testPipeline(testFeed('ipos'));
      expect(isMeasured(ipos, leastUnmeasured(first) + enough, created)).toBe(isBelow);
      // Its transition moves from the record as it was.
      expect(isMeasured(ipos, leastUnmeasured(first + second + first) + enough, updated)).toBe(isBelow);
    }
    expect(isMeasured(await testPipeline(testFeed('ipos')), Number.POSITIVE_INFINITY, created)).toBe(false);
  });

  it('counts the record that a transition moves from', async () => {
    const old = insight({ id: 'old', date: '2026-01-01', notes: 'x'.repeat(500) });
    const next = insight({ id: 'new', date: '2026-01-02' });
    const one = await testPipeline(testFeed('insights'));
    const both = [...one.page([old]), ...one.page([next])].map(imageBytes);
    for (const [enough, isBelow] of [
      [0, false],
      [-1, true],
    ] as const) {
      const insights = await testPipeline(testFeed('insights'));
      insights.page([old]);
      expect(isMeasured(insights, leastUnmeasured(both[0]! + both[1]!) + enough, next)).toBe(isBelow);
    }
  });

  it('is not given what is larger, and the numbers have no gap', async () => {
    const ipos = await testPipeline(testFeed('ipos'));
    const sizes: Readonly<Record<string, number>> = { a: 100, b: 101, c: 99 };
    const tooLarge: TooLarge[] = [];
    const bytesOf = ({ change }: ChangeEvents) => sizes[change.id]!;
    const rows = [ipo({ id: 'a' }), ipo({ id: 'b' }), ipo({ id: 'c' })];
    const events = ipos.page(rows, { maxBytes: 100, bytesOf, tooLarge });
    expect(events.map(({ change, tail }) => `${tail.source.seq} ${change.id}`)).toEqual(['1 a', '2 c']);
    expect(tooLarge).toEqual([{ change: expect.objectContaining({ op: 'c', id: 'b' }), bytes: 101 }]);
    expect(['a', 'b', 'c'].map((id) => ipos.state.image(id) !== undefined)).toEqual([true, false, true]);
    expect(ipos.state.offset.seq).toBe(2);
  });
});

describe('DealStatusChanged', () => {
  let ipos: TestPipeline;
  beforeEach(async () => {
    ipos = await testPipeline(testFeed('ipos'));
  });

  it('is published when the status moves, and for a new IPO', () => {
    const created = ipos.page([ipo({ updated: 1, deal_status: 'Priced', id: 'a' })]);
    const moved = ipos.page([ipo({ updated: 2, deal_status: 'Withdrawn', id: 'a' })]);
    expect(transitions([...created, ...moved])).toEqual([
      expect.objectContaining({
        event_id: 'ipos:abcd1234:1:deal_status',
        previous_status: null,
        status: 'Priced',
      }),
      {
        event_id: 'ipos:abcd1234:2:deal_status',
        caused_by: 'ipos:abcd1234:2',
        origin: 'poll',
        id: 'a',
        name: 'SEP Growth Holdings Corp',
        ticker: 'SEPGU',
        exchange: 'NASDAQ',
        previous_status: 'Priced',
        status: 'Withdrawn',
        updated: 2,
        ts_ms: OBSERVED_AT_MS,
      },
    ]);
    expect(moved[0]!.transitions[0]!.key).toBe('a');
  });

  it('is not published for reads, other fields, or a new IPO of unknown status', () => {
    const events = [
      ...ipos.page([ipo({ id: 'a' })], { snapshot: true }),
      ...ipos.page([ipo({ id: 'a', name: 'Other' }), ipo({ id: 'b', deal_status: '' })]),
    ];
    expect(ops(events)).toBe('ruc');
    expect(transitions(events)).toStrictEqual([]);
  });

  it('is published for an update while a snapshot runs, and after a restart', async () => {
    ipos.page([ipo({ id: 'a', deal_status: 'Priced' })], { snapshot: true });
    const during = ipos.page([ipo({ id: 'a', deal_status: 'Postponed' })], { snapshot: true });
    await ipos.restart();
    const after = ipos.page([ipo({ id: 'a', deal_status: '' })]);
    expect(transitions([...during, ...after])).toMatchObject([
      { origin: 'snapshot', previous_status: 'Priced', status: 'Postponed' },
      { origin: 'poll', previous_status: 'Postponed', status: null },
    ]);
  });
});

describe('RatingChanged', () => {
  let insights: TestPipeline;
  const call = (id: string, date: string, overrides: Record<string, unknown> = {}) =>
    insight({ id, date, rating_id: `r-${id}`, updated: 100, ...overrides });
  beforeEach(async () => {
    insights = await testPipeline(testFeed('insights'));
  });

  it('is an initiation for the first call of a firm on a symbol', () => {
    const events = insights.page([call('a', '2026-01-01', { pt: '5.00', rating: 'Buy' })]);
    expect(events[0]!.transitions[0]!.key).toBe('INOD|57f832d56b87f600016fa43f');
    expect(transitions(events)).toEqual([
      {
        event_id: 'insights:abcd1234:1:rating',
        caused_by: 'insights:abcd1234:1',
        origin: 'poll',
        id: 'a',
        rating_id: 'r-a',
        previous_rating_id: null,
        correction: false,
        symbol: 'INOD',
        security_name: 'Innodata',
        exchange: 'NASDAQ',
        firm_id: '57f832d56b87f600016fa43f',
        firm: 'BWS Financial',
        analyst_id: '669ea49c3f2d7e0001303664',
        action: 'Upgrades',
        previous_rating: null,
        rating: 'Buy',
        previous_pt: null,
        pt: '5.00',
        previous_date: null,
        date: '2026-01-01',
        updated: 100,
        ts_ms: OBSERVED_AT_MS,
      },
    ]);
  });

  it('is an initiation, and no correction, of which nothing more is known, too', () => {
    const events = insights.page([call('a', '2026-01-01', { pt: '', rating: '', rating_id: '' })]);
    expect(transitions(events)).toMatchObject([{ id: 'a', previous_rating: null, correction: false }]);
    insights.page([call('b', '2026-01-02', { rating_id: null })]);
    expect(
      transitions(insights.page([call('c', '2026-01-03', { pt: '9.00', rating_id: null })])),
    ).toMatchObject([{ id: 'c', previous_rating_id: null, rating_id: null, correction: false }]);
  });

  it('compares the newest with the one it replaces, also when that was read by a snapshot, before a restart', async () => {
    insights.page([call('old', '2026-01-01', { pt: '5.00', rating: 'Buy' }), call('older', '2025-01-01')], {
      snapshot: true,
    });
    await insights.restart();
    const events = insights.page([call('new', '2026-02-01', { pt: '4.00', rating: 'Sell' })]);
    expect(transitions(events)).toMatchObject([
      {
        id: 'new',
        previous_rating: 'Buy',
        rating: 'Sell',
        previous_pt: '5.00',
        pt: '4.00',
        previous_date: '2026-01-01',
      },
    ]);
  });

  it('is silent for an older call that comes late, an equal one, and a price target written differently', () => {
    insights.page([call('a', '2026-01-05', { pt: '5.0000' })]);
    expect(transitions(insights.page([call('late', '2026-01-04', { pt: '9.00', rating: 'Sell' })]))).toEqual(
      [],
    );
    expect(transitions(insights.page([call('same', '2026-01-06', { pt: '5.00' })]))).toStrictEqual([]);
  });

  it('follows an update of the newest, and tells a correction by its rating id', () => {
    insights.page([call('a', '2026-01-05', { pt: '5.00' })]);
    expect(transitions(insights.page([call('a', '2026-01-05', { pt: '6.00', updated: 101 })]))).toMatchObject(
      [{ id: 'a', previous_pt: '5.00', pt: '6.00', correction: true }],
    );
    expect(
      transitions(insights.page([call('b', '2026-01-05', { pt: '7.00', rating_id: 'r-a', updated: 102 })])),
    ).toMatchObject([{ id: 'b', previous_pt: '6.00', pt: '7.00', correction: true }]);
    expect(transitions(insights.page([call('c', '2026-01-06', { pt: '8.00', updated: 103 })]))).toMatchObject(
      [{ correction: false }],
    );
  });

  it('keeps groups apart whose parts are the same text when they are joined', () => {
    const partsOf = (symbol: string, firm: string) => ({ security: { symbol }, firm_id: firm });
    const first = insights.page([call('a', '2026-01-05', { ...partsOf('A|B', 'C'), pt: '5.00' })]);
    expect(first[0]!.transitions[0]!.key).toBe('A\\|B|C');
    const second = insights.page([call('b', '2026-01-06', { ...partsOf('A', 'B|C'), pt: '6.00' })]);
    expect(second[0]!.transitions[0]!.key).toBe('A|B\\|C');
    expect(transitions(second)).toMatchObject([{ id: 'b', previous_pt: null, pt: '6.00' }]);
  });

  it('breaks ties by updated, then by id', () => {
    insights.page([call('m', '2026-01-05', { pt: '1.00' })]);
    expect(transitions(insights.page([call('l', '2026-01-05', { pt: '2.00' })]))).toStrictEqual([]);
    expect(transitions(insights.page([call('n', '2026-01-05', { pt: '3.00' })]))).toMatchObject([
      { previous_pt: '1.00' },
    ]);
    expect(transitions(insights.page([call('a', '2026-01-05', { pt: '4.00', updated: 101 })]))).toMatchObject(
      [{ previous_pt: '3.00' }],
    );
  });

  it('an update that moves to another symbol is that group’s news only', () => {
    insights.page([call('a', '2026-01-01', { pt: '1.00' })]);
    const security = { ...(insight().security as object), symbol: 'OTHER' };
    expect(
      transitions(insights.page([call('a', '2026-01-01', { pt: '1.00', security, updated: 101 })])),
    ).toMatchObject([{ symbol: 'OTHER', previous_pt: null }]);
    expect(transitions(insights.page([call('b', '2026-01-01', { pt: '9.00' })]))).toMatchObject([
      { symbol: 'INOD', previous_pt: null },
    ]);
  });

  it.each([{ security: null }, { firm_id: '' }, { firm_id: null }])(
    'is silent without a group: %j',
    (overrides) => {
      expect(transitions(insights.page([call('a', '2026-01-01', overrides)]))).toStrictEqual([]);
    },
  );

  it('two calls of one group in one page come one after the other', () => {
    const events = insights.page([
      call('a', '2026-01-01', { pt: '1.00' }),
      call('b', '2026-01-02', { pt: '2.00' }),
      call('c', '2026-01-03', { pt: '3.00' }),
    ]);
    expect(transitions(events)).toMatchObject([
      { previous_pt: null, pt: '1.00' },
      { previous_pt: '1.00', pt: '2.00' },
      { previous_pt: '2.00', pt: '3.00' },
    ]);
  });
});

it('headers are CloudEvents, and enough to filter by without decoding', async () => {
  const feed = testFeed('ipos');
  const headers = new EventHeaders(feed);
  const ipos = await testPipeline(feed);
  ipos.page([ipo({ id: 'a', deal_status: 'Priced' })]);
  const [event] = ipos.page([ipo({ id: 'a', name: 'Other' })]);
  const common = {
    ce_specversion: '1.0',
    ce_source: '/highwater/ipos',
    ce_subject: 'a',
    ce_time: new Date(OBSERVED_AT_MS).toISOString(),
    'content-type': 'application/avro',
    op: 'u',
    symbol: 'SEPGU',
    'changed-fields': 'name,deal_status',
  };
  expect(headers.ofChange(event!)).toEqual({
    ...common,
    ce_id: 'ipos:abcd1234:2',
    ce_type: 'marketdata.ipos.updated',
  });
  expect(headers.ofTransition(event!, event!.transitions[0]!)).toEqual({
    ...common,
    ce_id: 'ipos:abcd1234:2:deal_status',
    ce_type: 'marketdata.ipos.deal-status-changed',
  });
});

it('headers name what happened, and hold nothing that is not known', async () => {
  const feed = testFeed('ipos');
  const headers = new EventHeaders(feed);
  const ipos = await testPipeline(feed);
  const [read] = ipos.page([ipo({ id: 'a' })], { snapshot: true });
  const [created] = ipos.page([ipo({ id: 'b' })]);
  const types = [read!, created!].map((event) => headers.ofChange(event).ce_type);
  expect(types).toEqual(['marketdata.ipos.read', 'marketdata.ipos.created']);
  const deleted = { ...created!, tail: { ...created!.tail, op: 'd' as const } };
  expect(headers.ofChange(deleted)).toMatchObject({ ce_type: 'marketdata.ipos.deleted', op: 'd' });
  expect(headers.ofChange(created!)).not.toHaveProperty('changed-fields');
  for (const symbol of [null, ''])
    expect(headers.ofChange({ ...created!, symbol })).not.toHaveProperty('symbol');
});

it('two transitions of one feed each have groups of their own', async () => {
  const { transitions: own } = testFeed('insights');
  const byAnalyst = { ...own[0]!, idSuffix: ':analyst', group: ['analyst_id'] } as (typeof own)[number];
  const insights = await testPipeline(testFeed('insights', { transitions: [...own, byAnalyst] }));
  insights.page([insight({ id: 'a', date: '2026-01-01', firm_id: 'f1', pt: '1.00' })]);
  const [event] = insights.page([insight({ id: 'b', date: '2026-01-02', firm_id: 'f2', pt: '2.00' })]);
  expect(event!.transitions).toMatchObject([
    { index: 0, key: 'INOD|f2', value: { event_id: 'insights:abcd1234:2:rating', previous_pt: null } },
    {
      index: 1,
      key: insight().analyst_id,
      value: { event_id: 'insights:abcd1234:2:analyst', previous_pt: '1.00' },
    },
  ]);
});

it('a further transition on any feed is a declaration', async () => {
  const feed = testFeed('analysts', {
    transitions: [
      {
        kind: 'field',
        type: 'AnalystMoved',
        schema: `${__dirname}/../../fixtures/analyst-moved.avsc`,
        topic: 'analysts.moves',
        eventType: 'marketdata.analysts.moved',
        idSuffix: ':firm',
        field: 'firm_id',
        fields: {
          id: 'after.id',
          name: 'after.name_full',
          previous_firm: 'before.firm_name',
          firm: 'after.firm_name',
        },
      },
    ],
  });
  const analysts = await testPipeline(feed);
  analysts.page([analyst()], { snapshot: true });
  const [event] = analysts.page([analyst({ firm_id: 'f2', firm_name: 'Other Bank' })]);
  const { value } = event!.transitions[0]!;
  expect(value).toMatchObject({
    event_id: 'analysts:abcd1234:2:firm',
    previous_firm: 'Morgan Stanley',
    firm: 'Other Bank',
  });
  const type = analysts.codec.transitions.get('AnalystMoved')!;
  expect(type.decode(type.encode(value))).toMatchObject({ name: 'Lillian Lou', firm: 'Other Bank' });
});
