import { idCandidates, isClear, keyOf, rowsIn, timeCandidates } from '../../../../src/cli/init/row-members';

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

  it('take the time of UTC before the one by the clock of a site', () => {
    const times = { modified: '2026-01-02T05:04:05', modified_gmt: '2026-01-02T03:04:05' };
    const candidates = timeCandidates([{ id: 1, date: '2026-01-01', ...times }]);
    expect(candidates[0]!.name).toBe('modified_gmt');
    expect(isClear(candidates)).toBe(true);
  });

  it.each(['sys.id', 'attributes.OBJECTID', 'properties.code'])(
    'take the id %s, which lies within another member',
    (path) => {
      const [holder, member] = path.split('.') as [string, string];
      const found = [1, 2].map((n) => ({ title: `t${n}`, [holder]: { [member]: n, size: 5 } }));
      const ids = idCandidates(found);
      expect(ids[0]!.name).toBe(path);
      expect(isClear(ids)).toBe(true);
      expect(idCandidates(found.map((row, n) => ({ ...row, id: n })))[0]!.name).toBe('id');
    },
  );

  it.each([
    ['sys_id', { sys_id: 'x', number: 'INC', id_no: 'z' }],
    ['id', { sys_id: 'x', id: 'y' }],
    ['_id.$oid', { _id: { $oid: 'x' }, title: 't' }],
    ['_id.$oid', { _id: { $oid: 'x' }, sku: 's', owner: { $oid: 'y' } }],
    ['id.videoId', { id: { kind: 'video', videoId: 'x' }, title: 't' }],
  ])('take the id %s of %j', (name, row) => {
    const numbered = (value: unknown, n: number): unknown =>
      typeof value === 'string'
        ? `${value}${n}`
        : Object.fromEntries(Object.entries(value as object).map(([key, of]) => [key, numbered(of, n)]));
    const ids = idCandidates([1, 2].map((n) => numbered(row, n) as object as Record<string, unknown>));
    expect(ids[0]!.name).toBe(name);
    expect(isClear(ids)).toBe(true);
  });

  it.each([
    ['seconds', [450_789_469, 450_789_470]],
    ['milliseconds', [5_400_000_000_001, 5_400_000_000_008]],
    ['numbers in a text', ['1204567890123456', '1204567890123457']],
  ])('take an id whose values look like times: %s', (_, [one, other]) => {
    const found = [
      { id: one, customer_id: other, updated_at: '2026-01-02T03:04:05Z' },
      { id: other, customer_id: one, updated_at: '2026-01-02T03:04:06Z' },
    ];
    const ids = idCandidates(found);
    expect(ids.map(({ name }) => name)).toEqual(['id', 'customer_id']);
    expect(isClear(ids)).toBe(true);
    expect(timeCandidates(found).map(({ name }) => name)).toEqual(['updated_at']);
  });

  it('take the member that the user names, although its name says nothing and its values look like times', () => {
    const found = [
      { ticket: 450_789_469, moment_id: 1_700_000_000 },
      { ticket: 450_789_470, moment_id: 1_700_000_000 },
    ];
    expect(idCandidates(found)).toEqual([]);
    expect(idCandidates(found, 'ticket')).toEqual([{ name: 'ticket', score: 0 }]);
    expect(timeCandidates(found).map(({ name }) => name)).toEqual(['ticket']);
    expect(timeCandidates(found, 'moment_id').map(({ name }) => name)).toEqual(['ticket', 'moment_id']);
    expect(idCandidates(found, 'moment_id')).toEqual([]);
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

  describe('within other members', () => {
    const nested = [1, 2].map((n) => ({
      id: n,
      createdTime: `2026-01-0${n}`,
      author: { updated_at: `2026-01-0${n}` },
      fields: { updated: `2026-01-0${n}T03:04:05.000+0000`, due: 1_700_000_000 + n, key: `K-${n}` },
    }));

    it('are times that are named as such, in what holds the members of a record', () => {
      const times = timeCandidates(nested);
      expect(times.map(({ name, format }) => [name, format])).toEqual([
        ['fields.updated', 'iso8601'],
        ['createdTime', 'iso8601'],
      ]);
      expect(isClear(times)).toBe(true);
    });

    it('give way to a time of the record itself', () => {
      const times = timeCandidates(nested.map((row) => ({ ...row, updated: '2026-01-02' })));
      expect(times[0]!.name).toBe('updated');
      expect(isClear(times)).toBe(true);
    });

    it.each([
      ['author.updated_at', 'iso8601'],
      ['fields.due', 'seconds'],
    ])('are times that the user names: %s', (name, format) => {
      expect(timeCandidates(nested, name)).toContainEqual(expect.objectContaining({ name, format }));
    });

    it('are ids that the user names', () => {
      expect(idCandidates(nested, 'fields.key')).toContainEqual({ name: 'fields.key', score: 2 });
      expect(idCandidates(nested).map(({ name }) => name)).not.toContain('fields.key');
      expect(keyOf(nested[0], 'fields.key')).toBe('K-1');
    });
  });
});
