import fc from 'fast-check';
import { removeMembers } from '../../../src/json/remove-members';
import { PageChanges } from '../../../src/pipeline/changes/page-changes';
import type { ChangeEvents, RecordValues } from '../../../src/types';
import { testFeed } from '../../support/feeds';
import { orderFeed, orderSchema } from '../../support/orders';
import { OBSERVED_AT_MS, type TestPipeline, testPipeline } from '../../support/pipeline';
import { ipo } from '../../support/records';
import { runs } from '../../support/runs';
import { schemaFiles } from '../../support/schema-versions';

type Row = Record<string, unknown>;

const files = schemaFiles();
const orders = orderFeed(files.add(orderSchema));
afterAll(() => files.remove());

const summary = (events: readonly ChangeEvents[]) =>
  events.map(({ change: { op, id, changedFields } }) => [op, id, ...changedFields].join(' '));

/** As the source does with the rows of a feed with `omit`. */
function cleaned(rows: readonly Row[], paths: readonly string[]): Row[] {
  // Without parts that two members share.
  const copy = JSON.parse(JSON.stringify(rows)) as Row[];
  removeMembers(copy, paths);
  return copy;
}

it('a member that is ignored is in snapshots and deletes as any other', async () => {
  const ipos = await testPipeline(testFeed('ipos', { ignore: ['sic'] }));
  ipos.page([ipo({ updated: 100, sic: 1 })]);
  const pending = ipos.state.begin();
  pending.moveOffset({ snapshot_seq: 1 });
  pending.settle();
  const [read] = ipos.page([ipo({ updated: 101, sic: 2 })], { snapshot: true });
  expect([read!.change.op, ipos.images(read!).after?.sic]).toEqual(['r', 2]);
  const changes = new PageChanges(ipos.changeDeps, ipos.state.begin(), OBSERVED_AT_MS, 'reconcile');
  changes.remove(String(ipo().id));
  const [deleted] = changes.news(null).events;
  expect(ipos.images(deleted!)).toMatchObject({ before: { sic: 2 }, after: null });
});

describe('a member that is omitted since some records were published', () => {
  const omit = ['name', 'contact', 'meta.email'];
  const whole = testFeed('ipos');
  const secret = { name: 'Ada', contact: { email: 'a@x' }, meta: { email: 'a@x', note: 'n' } };
  const rows = (overrides: Row = {}) => [ipo({ id: 'a', updated: 100, ...secret, ...overrides })];
  let pipeline: TestPipeline;
  beforeEach(async () => {
    const before = await testPipeline(whole);
    before.page(rows());
    pipeline = await testPipeline({ ...whole, omit });
    pipeline.state = before.state;
  });
  const page = (overrides: Row = {}) => pipeline.page(cleaned(rows(overrides), omit));
  const shown = (events: readonly ChangeEvents[]) =>
    JSON.stringify(events.map((event) => pipeline.images(event)));

  it('leaves the image with the next read of a record that did not change, which is an `r`', () => {
    const events = page();
    expect(summary(events)).toEqual(['r a']);
    expect(shown(events)).not.toMatch(/Ada|a@x/);
    expect(pipeline.images(events[0]!)).toMatchObject({
      before: null,
      after: { name: null, extra: { meta: '{"note":"n"}' } },
    });
    expect(page({ updated: 101 })).toStrictEqual([]);
  });

  it('is not in before of an update either', () => {
    const updates = page({ updated: 101, ticker: 'NEW' });
    expect(summary(updates)).toEqual(['u a ticker']);
    expect(pipeline.images(updates[0]!).before).toMatchObject({
      name: null,
      extra: { meta: '{"note":"n"}' },
    });
    expect(shown(updates)).not.toMatch(/Ada|a@x/);
  });

  it('is not in before of a delete', () => {
    const changes = new PageChanges(pipeline.changeDeps, pipeline.state.begin(), OBSERVED_AT_MS, 'reconcile');
    changes.remove('a');
    const { events } = changes.news(null);
    expect(summary(events)).toEqual(['d a']);
    expect(shown(events)).not.toMatch(/Ada|a@x/);
  });
});

describe('of any rows of any feed (property)', () => {
  const value = fc.constantFrom<unknown>(
    1,
    2,
    'x',
    null,
    '',
    { a: 1, b: 2 },
    { a: 2, b: 2 },
    [{ a: 1, b: 1 }],
    [{ a: 2, b: 1 }, 7],
  );
  const row = fc.record(
    {
      order_no: fc.constantFrom('A', 'B'),
      modified_at: fc.integer({ min: 10, max: 59 }).map((second) => `2026-01-31T09:30:${second}Z`),
      items: fc.array(
        fc.record({ sku: fc.constantFrom('x', 'y'), qty: fc.constantFrom(1, 2, 'two'), b: value }),
        { maxLength: 2 },
      ),
      shops: fc.dictionary(
        fc.constantFrom('north', 'a.b'),
        fc.record({ city: fc.constantFrom('Ulm', 'Bonn'), b: value }),
      ),
      prices: fc.dictionary(fc.constantFrom('usd', 'eur'), value),
      id: value,
      note: value,
      'note.a': value,
    },
    { requiredKeys: ['order_no', 'modified_at'] },
  );
  const path = fc.constantFrom(
    ...['items', 'items.qty', 'items.b', 'items.b.a', 'shops.north', 'shops.a.b.city', 'shops.a.b.b'],
    ...['prices.usd', 'prices.eur.a', 'id', 'note', 'note.a', 'note.b', 'nowhere'],
  );
  const paths = fc.uniqueArray(path, { minLength: 1, maxLength: 3 });
  const pages = fc.array(fc.array(row, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 6 });
  const folded = new Map<string, RecordValues>();

  it('events with `ignore` are those of rows without the ignored members, and before is what was published', async () => {
    await fc.assert(
      fc.asyncProperty(paths, pages, async (ignore, all) => {
        folded.clear();
        const pipeline = await testPipeline({ ...orders, ignore });
        const plain = await testPipeline(orders);
        for (const rows of all) {
          const events = pipeline.page(structuredClone(rows));
          for (const event of events) {
            const { before, after } = pipeline.images(event);
            expect(before).toEqual(folded.get(event.change.id) ?? null);
            folded.set(event.change.id, after!);
          }
          // The same without the members: what it publishes is the truth that readers have to see.
          expect(summary(events)).toEqual(summary(plain.page(cleaned(rows, ignore))));
        }
      }),
      { numRuns: runs(100) },
    );
  });

  it('images of a feed with `omit` are those of rows without the members, whatever was published before', async () => {
    await fc.assert(
      fc.asyncProperty(paths, pages, pages, async (omit, earlier, later) => {
        const pipeline = await testPipeline({ ...orders, omit });
        const before = await testPipeline(orders);
        for (const rows of earlier) before.page(structuredClone(rows));
        pipeline.state = before.state;
        for (const rows of later) {
          for (const event of pipeline.page(cleaned(rows, omit))) {
            const { change } = event;
            for (const image of [change.before, change.after])
              if (image !== null) expect(pipeline.changeDeps.images.withoutOmitted(image)).toBe(image);
          }
          const record = pipeline.decode(cleaned(rows, omit)).records.at(-1)!;
          const image = pipeline.state.image(record.id)!;
          expect(pipeline.changeDeps.images.withoutOmitted(image)).toBe(image);
          expect(pipeline.changeDeps.images.compare(image, record).changedFields).toEqual([]);
        }
      }),
      { numRuns: runs(100) },
    );
  });
});
