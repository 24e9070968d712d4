import fc from 'fast-check';
import { recordShape } from '../../src/avro/record-shape';
import { type RecordSchema, readSchema } from '../../src/avro/schemas';
import type { Feed } from '../../src/feeds/feed';
import { parseJson } from '../../src/json/parse-json';
import { createComparison } from '../../src/pipeline/changes/compare';
import { createDecoder } from '../../src/pipeline/records/decode';
import { createRowOf } from '../../src/pipeline/records/row-of';
import { testFeed } from '../support/feeds';
import { insight, ipo } from '../support/records';
import { runs } from '../support/runs';
import { fieldPaths, readBy, schemaFiles, without } from '../support/schema-versions';
import { scriptedVendor } from '../support/scripted-vendor';
import { type TestPublisher, testPublisher } from '../support/test-publisher';

type Row = Record<string, unknown>;

const files = schemaFiles();
afterAll(() => files.remove());

/** A feed by one version of its schema after another, over a vendor whose rows are given. */
async function versionedFeed(name: 'ipos' | 'insights' | 'analysts', schemas: readonly RecordSchema[]) {
  const vendor = scriptedVendor();
  const feeds = schemas.map((schema) =>
    testFeed(name, { schema: files.add(schema), pageSize: 10, wideOverlapSeconds: 100_000 }),
  );
  const publisher = await testPublisher(feeds[0]!, vendor);
  let clock = 1000;
  const rows = new Map<string, Row>();
  return {
    feeds,
    publisher,
    rows,
    /** Shows a row, later than all others. */
    write(row: Row) {
      rows.delete(row.id as string);
      rows.set(row.id as string, { ...row, updated: ++clock });
      vendor.rows = [...rows.values()];
    },
    /** Another version of the project takes the feed over. */
    async upgrade(version: number) {
      await publisher.restart({ feed: feeds[version]! });
    },
    /** @returns events that it published */
    poll: async () => (await publisher.poll({ wide: true })).changes,
  };
}

/** I3, as a consumer with this schema reads the events. */
async function expectChained(schema: RecordSchema, feed: Feed, publisher: TestPublisher): Promise<void> {
  const live = new Map<string, unknown>();
  for (const { key, op, before, after, changed_fields } of await readBy(schema, feed, publisher)) {
    if (op === 'u') {
      expect([key, before]).toEqual([key, live.get(key)]);
      expect(changed_fields).not.toEqual([]);
    }
    live.set(key, after);
  }
}

describe('a version with one more field', () => {
  const newer = readSchema('ipo.avsc');
  const older = without(newer, ['notes', 'sic']);

  it('publishes nothing by itself; before is what was published, after has the field', async () => {
    const { publisher, feeds, write, upgrade, poll } = await versionedFeed('ipos', [older, newer]);
    write(ipo({ id: 'a', notes: 'x', sic: '6770.0' }));
    write(ipo({ id: 'b', notes: null, sic: 0 }));
    expect(await poll()).toBe(2);
    await upgrade(1);
    expect(await poll()).toBe(0);
    write(ipo({ id: 'a', notes: 'x', sic: 6770, name: 'Renamed' }));
    expect(await poll()).toBe(1);
    const { op, before, after, changed_fields } = (await readBy(newer, feeds[1]!, publisher)).at(-1)!;
    expect([op, changed_fields]).toEqual([
      'u',
      ['name', 'notes', 'sic', 'extra.notes', 'extra.sic'].sort(byField),
    ]);
    expect(before).toMatchObject({ notes: null, sic: null, extra: { notes: '"x"', sic: '"6770.0"' } });
    expect(after).toMatchObject({ notes: 'x', sic: 6770, name: 'Renamed' });
    expect(after).toHaveProperty('extra', {});
    for (const schema of [older, newer]) await expectChained(schema, feeds[1]!, publisher);
    await publisher.close();
  });

  /** In the order of the schema, `extra` included. */
  const order = newer.fields.map(({ name }) => name);
  const byField = (a: string, b: string) =>
    order.indexOf(a.split('.')[0]!) - order.indexOf(b.split('.')[0]!) || (a < b ? -1 : 1);

  it('leaves an older one to go on by its schema when that is rolled back', async () => {
    const { publisher, feeds, write, upgrade, poll } = await versionedFeed('ipos', [newer, older]);
    write(ipo({ id: 'a', notes: 'x', sic: 6770 }));
    expect(await poll()).toBe(1);
    await upgrade(1);
    expect(await poll()).toBe(0);
    write(ipo({ id: 'a', notes: 'x', sic: 6770, name: 'Renamed' }));
    write(ipo({ id: 'b', notes: 'y' }));
    expect(await poll()).toBe(2);
    const events = await readBy(newer, feeds[1]!, publisher);
    expect(events[1]).toMatchObject({
      changed_fields: ['name'],
      after: { notes: 'x', sic: 6770 },
    });
    expect(events[2]).toMatchObject({ op: 'c', after: { notes: 'y' } });
    for (const event of events.slice(1)) expect(event).toHaveProperty('after.extra', {});
    for (const schema of [older, newer]) await expectChained(schema, feeds[1]!, publisher);
    await publisher.close();
  });

  it('moves no transition by what it only now can read', async () => {
    const full = readSchema('ipo.avsc');
    const { publisher, write, upgrade, poll } = await versionedFeed('ipos', [
      without(full, ['deal_status']),
      full,
    ]);
    write(ipo({ id: 'a', deal_status: 'Priced' }));
    await poll();
    await upgrade(1);
    write(ipo({ id: 'a', deal_status: 'Priced', name: 'Renamed' }));
    expect(await poll()).toBe(1);
    expect(await publisher.topic('ipos.deal-status')).toStrictEqual([]);
    write(ipo({ id: 'a', deal_status: 'Closed', name: 'Renamed' }));
    await poll();
    expect((await publisher.topic('ipos.deal-status')).map(({ decoded }) => decoded)).toMatchObject([
      { previous_status: 'Priced', status: 'Closed' },
    ]);
    await publisher.close();
  });

  it('knows the newest of a group by fields that older images have in extra', async () => {
    const full = readSchema('insight.avsc');
    const { publisher, write, upgrade, poll } = await versionedFeed('insights', [
      without(full, ['firm_id', 'pt']),
      full,
    ]);
    write(insight({ id: 'a', pt: '10.00' }));
    await poll();
    await upgrade(1);
    write(insight({ id: 'b', pt: '12.00' }));
    await poll();
    expect((await publisher.topic('insights.rating-changes')).map(({ decoded }) => decoded)).toMatchObject([
      { id: 'b', previous_pt: '10.00', pt: '12.00' },
    ]);
    await publisher.close();
  });
});

it('a version with one field less loses nothing and publishes nothing by itself', async () => {
  const full = readSchema('insight.avsc');
  const schemas = [without(full, ['security.isin']), without(full, ['security.name', 'analyst'])];
  const { publisher, rows, write, upgrade, poll } = await versionedFeed('insights', schemas);
  write(insight({ id: 'a', analyst: 7, security: { symbol: 'S', name: 'Name', isin: 'US1', more: [1] } }));
  await poll();
  for (const version of [1, 0, 1]) {
    await upgrade(version);
    expect(await poll()).toBe(0);
  }
  write({ ...rows.get('a')!, firm: 'Other' });
  expect(await poll()).toBe(1);
  const { after } = (await publisher.topic('insights')).at(-1)!.decoded!;
  expect(after).toMatchObject({
    firm: 'Other',
    security: { symbol: 'S', isin: 'US1', name: 'Name' },
    extra: { analyst: '7', 'security.more': '[1]' },
  });
  await publisher.close();
});

it.each([{}, { ignore: ['notes'] }, { omit: ['notes'] }])(
  'a time that the vendor has renamed goes on in its field (%j)',
  async (more) => {
    const vendor = scriptedVendor();
    const full = readSchema('ipo.avsc');
    const fields = full.fields.map((field) =>
      field.name === 'updated' ? { ...field, vendorName: 'changed_at' } : field,
    );
    const settings = { pageSize: 10, wideOverlapSeconds: 100_000 };
    const schema = files.add({ ...full, fields });
    const publisher = await testPublisher(testFeed('ipos', settings), vendor);
    vendor.rows = [ipo({ id: 'a', updated: 1000 }), ipo({ id: 'b', updated: 1001, notes: 'N' })];
    await publisher.poll();
    await publisher.restart({
      feed: testFeed('ipos', { ...settings, ...more, schema, updatedField: 'changed_at' }),
    });
    // The source removes what the feed omits.
    const notes = 'omit' in more ? undefined : 'N';
    const renamed = (row: Row, changed_at: number): Row => {
      const { updated, ...others } = row;
      return { ...others, changed_at };
    };
    vendor.rows = [
      renamed(ipo({ id: 'a', updated: 1000 }), 1000),
      renamed(ipo({ id: 'b', name: 'B', notes }), 1002),
    ];
    expect((await publisher.poll({ wide: true })).changes).toBe(1);
    expect((await publisher.topic('ipos')).at(-1)!.decoded).toMatchObject({
      op: 'u',
      changed_fields: ['name'],
      before: { id: 'b', updated: 1001, notes: notes ?? null },
      after: { id: 'b', updated: 1002, name: 'B' },
    });
    await publisher.close();
  },
);

const REFUSED = 'is refused by the registry';
it.each(['list', 'map', REFUSED])(
  'a change of a field that a version lacks is published (%s)',
  async (where) => {
    const full = readSchema('ipo.avsc');
    const part = (...names: string[]) => ({
      ...{ type: 'record', name: 'Part' },
      fields: names.map((name) => ({ name, type: ['null', 'string'], default: null })),
    });
    const type = (...names: string[]) =>
      where === 'map' ? { type: 'map', values: part(...names) } : { type: 'array', items: part(...names) };
    const schema = (more: object, field = 'parts') =>
      ({
        ...full,
        fields: [...full.fields, { name: field, type: ['null', more], default: null }],
      }) as unknown as RecordSchema;
    // The same name for another type cannot be registered together with the first.
    const fewer = where === REFUSED ? schema(type('qty'), 'pieces') : schema(type('qty'));
    const added = { name: 'added_later', type: ['null', 'string'], default: null };
    const later = { ...fewer, fields: [...fewer.fields, added] } as RecordSchema;
    const { publisher, write, upgrade, poll } = await versionedFeed('ipos', [
      schema(type('sku', 'qty')),
      later,
    ]);
    const parts = (sku?: string) => (where === 'map' ? { x: { sku, qty: '1' } } : [{ sku, qty: '1' }]);
    write(ipo({ id: 'a', parts: parts('s') }));
    await poll();
    await upgrade(1);
    expect(await poll()).toBe(0);
    write(ipo({ id: 'a', parts: where === REFUSED ? undefined : parts() }));
    expect(await poll()).toBe(1);
    expect(await poll()).toBe(0);
    const { before, changed_fields } = (await publisher.topic('ipos')).at(-1)!.decoded!;
    expect(changed_fields).toEqual(['parts']);
    if (where !== REFUSED) expect(JSON.stringify(before.parts)).toContain('"sku":"s"');
    await publisher.close();
  },
);

const anything = fc.constantFrom<unknown>(
  ...[
    undefined,
    null,
    '',
    0,
    1,
    -3,
    12.5,
    2 ** 60,
    '12',
    '12.0',
    '5.00',
    '5.0',
    'text',
    'x\ud800',
    true,
    'true',
  ],
  ...[[], ['a'], ['a', null], {}, { a: 1 }, { a: { b: null } }],
);

describe.each(['ipos', 'analysts', 'insights'] as const)('%s', (name) => {
  const full = readSchema(testFeed(name).schema);
  const paths = fieldPaths(full);
  const object = (members: readonly string[]) =>
    fc.record(Object.fromEntries(members.map((member) => [member, anything])));

  /** Which fields the versions lack, and what becomes of the rows under one version after another. */
  const plays = fc
    .record({
      lacks: fc.tuple(...[0, 1].map(() => fc.subarray(paths, { minLength: 0, maxLength: 6 }))),
      isOneWider: fc.boolean(),
    })
    .chain(({ lacks, isOneWider }) => {
      const versions = isOneWider ? [[], lacks[1]!] : lacks;
      // Values for the fields in which the versions differ, and for few others.
      const chosen = [...new Set([...lacks.flat(), paths[0]!, paths.at(-1)!, 'unheard_of'])];
      const top = chosen.filter((path) => !path.includes('.'));
      const nested = new Map<string, string[]>();
      for (const path of chosen) {
        const [parent, member] = path.split('.');
        if (member !== undefined) nested.set(parent!, [...(nested.get(parent!) ?? ['unheard_of']), member]);
      }
      const parents = Object.fromEntries(
        [...nested].map(([parent, members]) => [
          parent,
          fc.oneof({ weight: 4, arbitrary: object(members) }, anything),
        ]),
      );
      const row = fc.tuple(object(top), fc.record(parents)).map(([a, b]) => ({ ...a, ...b }) as Row);
      const step = fc.record({
        version: fc.nat(1),
        writes: fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), row), { maxLength: 3 }),
      });
      return fc.record({
        versions: fc.constant(versions),
        isOneWider: fc.constant(isOneWider),
        steps: fc.array(step, { minLength: 2, maxLength: 5 }),
      });
    });

  it('versions that take turns publish what changed, lose nothing, and keep the chain (property)', async () => {
    const decodeFull = createDecoder(testFeed(name), recordShape(full));
    const compareFull = createComparison(recordShape(full));
    const isChange = (before: Row | undefined, after: Row) => {
      const [b, a] = [before ?? { id: after.id, updated: 0 }, after].map(
        (row) => decodeFull([row]).records[0]!.values,
      );
      return before === undefined || compareFull(b!, a!).length > 0;
    };
    await fc.assert(
      fc.asyncProperty(plays, async ({ versions, steps }) => {
        const schemas = versions.map((lacking) => without(full, lacking));
        const { publisher, feeds, rows, write, upgrade, poll } = await versionedFeed(name, schemas);
        try {
          for (const { version, writes } of steps) {
            await upgrade(version);
            expect(await poll()).toBe(0);
            const before = new Map(rows);
            for (const [id, row] of writes) write({ ...(parseJson(JSON.stringify(row)) as Row), id });
            const changed = [...rows].filter(([id, row]) => isChange(before.get(id), row));
            const published = await poll();
            expect(published).toBeGreaterThanOrEqual(changed.length);
            expect(published).toBeLessThanOrEqual(new Set(writes.map(([id]) => id)).size);
            const { deps } = publisher.owned();
            for (const [id, row] of rows) {
              const image = deps.images.decode(deps.state.image(id)!);
              // As all fields would show it: in `extra`, 12 and "12" would differ.
              const [kept] = decodeFull([
                createRowOf(recordShape(deps.codec.schemas.record))(image.values),
              ]).records;
              expect([id, compareFull(kept!.values, decodeFull([row]).records[0]!.values)]).toStrictEqual([
                id,
                [],
              ]);
            }
          }
          const inNone = versions[0]!.filter((path) => versions[1]!.includes(path));
          for (const reader of [...schemas, without(full, inNone)])
            await expectChained(reader, feeds[0]!, publisher);
        } finally {
          await publisher.close();
        }
      }),
      { numRuns: runs(30) },
    );
  });
});
