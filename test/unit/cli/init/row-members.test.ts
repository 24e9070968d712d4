import { idCandidates, isClear, rowsIn, timeCandidates } from '../../../../src/cli/init/row-members';

describe('rowsIn', () => {
  it('finds rows under a dotted path, the longest array first', () => {
    const rows = [{ id: 1, tags: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] }, { id: 2 }];
    const found = rowsIn({ data: { orders: rows }, warnings: [{ code: 1 }], cursors: ['x'] });
    expect(found.map(({ path }) => path)).toEqual(['data.orders', 'warnings']);
  });

  it('finds rows that are the answer itself', () => {
    expect(rowsIn([{ id: 1 }])).toEqual([{ path: '', rows: [{ id: 1 }] }]);
  });

  it.each([[null], ['text'], [[]], [[1, 2]], [{ a: { b: { c: { d: { e: [{ id: 1 }] } } } } }]])(
    'finds none in %j',
    (answer) => {
      expect(rowsIn(answer)).toEqual([]);
    },
  );
});

describe('candidates', () => {
  const rows = [
    {
      id: 7,
      state: 'new',
      created_at: '2026-01-02T03:04:05Z',
      updated_at: '2026-01-02T03:04:05.123+02:00',
      no: 'a',
    },
    { id: 8, state: 'new', created_at: '2026-01-02', updated_at: '2026-01-03T00:00:00Z', no: 'b', rare: 1 },
  ];

  it('take the member whose name says that it is the id', () => {
    const ids = idCandidates(rows);
    expect(ids.map(({ name }) => name)).toEqual(['id', 'no']);
    expect(isClear(ids)).toBe(true);
  });

  it('take the time of the update before that of the creation', () => {
    expect(timeCandidates(rows).map(({ name, format }) => [name, format])).toEqual([
      ['updated_at', 'iso8601'],
      ['created_at', 'iso8601'],
    ]);
  });

  it('tell seconds from milliseconds, also when they are text', () => {
    const found = timeCandidates([
      { modified: 1_700_000_000.5, date_updated: '1700000000000', count: 12 },
      { modified: 1_700_000_001, date_updated: '1700000000001', count: 200_000_000 },
    ]);
    expect(found.map(({ name, format }) => [name, format])).toEqual([
      ['modified', 'seconds'],
      ['date_updated', 'milliseconds'],
    ]);
    expect(isClear(found)).toBe(false);
  });
});
