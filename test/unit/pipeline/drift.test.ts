import { readSchema } from '../../../src/avro/schemas';
import type { LogFacts, Logger } from '../../../src/logging/logger';
import { createDrift } from '../../../src/pipeline/records/drift';
import { testFeed } from '../../support/feeds';
import { analyst } from '../../support/records';
import { scriptedVendor } from '../../support/scripted-vendor';
import { testPublisher } from '../../support/test-publisher';

const schema = readSchema('analyst.avsc');

function listening() {
  const said: { level: string; message: string; facts: LogFacts }[] = [];
  const on = (level: string) => (message: string, facts?: LogFacts) =>
    void said.push({ level, message, facts: facts! });
  const logger: Logger = { error: on('error'), warn: on('warn'), info: on('info'), debug: on('debug') };
  return { said, drift: createDrift({ name: 'analysts', updatedField: 'updated' }, logger) };
}

it('names each path once, with what was found and what becomes of it, and counts the rest', () => {
  const { said, drift } = listening();
  const accuracy = 'ratings_accuracy.1m_stdev';
  for (let i = 0; i < 3; i++) {
    drift.note({ cusip: `"${'x'.repeat(1000)}"`, [accuracy]: '{"a":1}' }, schema);
    drift.note({ 'ratings_accuracy.rank': '7' }, schema);
  }
  drift.note({ ratings_accuracy: '[]', updated: '1.5', 'a.b': '0', flag: 'false' }, schema);
  drift.note({}, schema);
  expect(drift.found()).toEqual({
    paths: [
      { path: 'cusip', expected: null, type: 'text', count: 3 },
      { path: accuracy, expected: 'string', type: 'object', count: 3 },
      { path: 'ratings_accuracy.rank', expected: null, type: 'number', count: 3 },
      { path: 'ratings_accuracy', expected: 'record', type: 'list', count: 1 },
      { path: 'updated', expected: 'long', type: 'number', count: 1 },
      { path: 'a.b', expected: null, type: 'number', count: 1 },
      { path: 'flag', expected: null, type: 'boolean', count: 1 },
    ],
    others: 0,
  });
  expect(said.map(({ level, message }) => `${level}: ${message}`)).toEqual([
    'info: Feed analysts: the API sends cusip, which the schema does not have.',
    `warn: Feed analysts: ${accuracy} came as object, where the schema has string.`,
    'info: Feed analysts: the API sends ratings_accuracy.rank, which the schema does not have.',
    'warn: Feed analysts: ratings_accuracy came as list, where the schema has record.',
    'warn: Feed analysts: updated came as number, where the schema has long.',
    'info: Feed analysts: the API sends a.b, which the schema does not have.',
    'info: Feed analysts: the API sends flag, which the schema does not have.',
  ]);
  expect(said[0]!.facts).toEqual({
    feed: 'analysts',
    path: 'cusip',
    type: 'text',
    now: 'Its values are published as JSON text in extra.',
  });
});

it('does not count an unknown member before it has a value', () => {
  const { said, drift } = listening();
  drift.note({ note: 'null', tags: '[]', links: '{}' }, schema);
  expect([drift.found().paths, said]).toEqual([[], []]);
  drift.note({ note: '"late"', tags: '[]', name_first: '[]' }, schema);
  expect(drift.found().paths).toEqual([
    { path: 'note', expected: null, type: 'text', count: 1 },
    { path: 'name_first', expected: 'string', type: 'list', count: 1 },
  ]);
});

it('does not grow with the names that a vendor thinks of', () => {
  const { said, drift } = listening();
  for (let i = 0; i < 5000; i++) drift.note({ [`id_${i}`]: '1' }, schema);
  drift.note({ id_7: '1', ['y'.repeat(10_000)]: '1' }, schema);
  const { paths, others } = drift.found();
  expect([paths.length, others, paths[7]!.count]).toEqual([100, 4901, 2]);
  expect(said).toHaveLength(101);
  expect(said.at(-1)).toMatchObject({
    level: 'warn',
    message: expect.stringContaining('more than 100 members'),
  });
});

it('cuts a name that is very long', () => {
  const { said, drift } = listening();
  drift.note({ ['y'.repeat(10_000)]: '1' }, schema);
  expect(said[0]!.message.length).toBeLessThan(300);
  expect(drift.found().paths[0]!.path).toBe(`${'y'.repeat(200)}…`);
});

it('counts what is published, however often it is read', async () => {
  const feed = testFeed('analysts', { pageSize: 10, wideOverlapSeconds: 100_000 });
  const vendor = scriptedVendor();
  const publisher = await testPublisher(feed, vendor);
  vendor.rows = [
    analyst({ id: 'a', updated: 5, cusip: '1' }),
    analyst({ id: 'b', updated: 6, firm_name: {} }),
  ];
  const { drift } = publisher.owned().deps;
  for (let i = 0; i < 3; i++) await publisher.poll({ wide: true });
  vendor.rows = [...vendor.rows, analyst({ id: 'a', updated: 7, cusip: '2' })];
  await publisher.poll({ wide: true });
  expect(drift.found().paths).toEqual([
    { path: 'cusip', expected: null, type: 'text', count: 2 },
    { path: 'firm_name', expected: 'string', type: 'object', count: 1 },
  ]);
  expect(publisher.logger.warnings).toEqual([
    'Feed analysts: firm_name came as object, where the schema has string.',
  ]);
});
