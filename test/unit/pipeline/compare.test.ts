import { recordShape } from '../../../src/avro/record-shape';
import type { FieldSchema, RecordSchema } from '../../../src/avro/schemas';
import { createComparison, equalDecimalText } from '../../../src/pipeline/changes/compare';

const record = (fields: readonly FieldSchema[]): RecordSchema => ({ type: 'record', name: 'R', fields });
const nested = record([
  { name: 'id', type: ['null', 'string'] },
  { name: 'rate', type: 'string', decimalText: true },
  { name: 'more', type: { type: 'map', values: 'string' } },
]);
const compare = createComparison(
  recordShape(
    record([
      { name: 'id', type: 'string' },
      { name: 'updated', type: 'long' },
      { name: 'name', type: ['null', 'string'] },
      { name: 'version', type: ['null', 'string'], decimalText: false },
      { name: 'count', type: 'long' },
      { name: 'price', type: ['null', 'string'], decimalText: true },
      { name: 'list', type: ['null', { type: 'array', items: 'string' }] },
      { name: 'part', type: ['null', nested as never] },
      { name: 'extra', type: { type: 'map', values: 'string' } },
    ]),
  ),
);
const changed = (before: Record<string, unknown>, after: Record<string, unknown>) =>
  compare({ id: 'a', updated: 1, extra: {}, ...before }, { id: 'a', updated: 1, extra: {}, ...after });

describe('a comparison of two records', () => {
  it('leaves out id and updated, of the record only, and the fraction of updated in extra', () => {
    expect(changed({ id: 'a', updated: 1 }, { id: 'b', updated: 2 })).toStrictEqual([]);
    expect(changed({ extra: { updated: '1.25' } }, { extra: { updated: '2.5' } })).toStrictEqual([]);
    expect(changed({ part: { id: 'a' } }, { part: { id: 'b' } })).toEqual(['part.id']);
  });

  it.each([
    ['name', 'x', 'y'],
    ['name', 'x', null],
    ['name', null, 'x'],
    ['name', 'x', undefined],
    ['name', '1.0', '1'],
    ['version', '1.0', '1'],
    ['count', 1, 2],
    ['count', 0, 1],
    ['price', '1', '2'],
    ['price', null, '1'],
    ['price', '1', 'one'],
    ['price', 'one', '1'],
    ['price', '1 ', '1'],
    ['list', ['a'], ['b']],
    ['list', ['a', 'b'], ['b', 'a']],
    ['list', null, ['a']],
    ['list', ['a'], undefined],
  ])('%s differs: %j and %j', (name, before, after) => {
    expect(changed({ [name]: before }, { [name]: after })).toEqual([name]);
  });

  it.each([
    ['name', null, ''],
    ['name', undefined, null],
    ['name', '', undefined],
    ['count', 0, null],
    ['count', undefined, 0],
    ['price', '1', '1.00'],
    ['price', '1e2', '100'],
    ['price', null, ''],
    ['price', 'one', 'one'],
    ['list', null, []],
    ['list', [], undefined],
    ['list', ['a', 'b'], ['a', 'b']],
    ['part', null, undefined],
    ['part', null, { id: null, rate: '', more: {} }],
  ])('%s is the same: %j and %j', (name, before, after) => {
    expect(changed({ [name]: before }, { [name]: after })).toStrictEqual([]);
  });

  it('names members of a nested record by dots, from whichever side they are on', () => {
    expect(changed({ part: null }, { part: { rate: '1', more: { x: '1' } } })).toEqual([
      'part.rate',
      'part.more',
    ]);
    expect(changed({ part: { rate: '1', more: { x: '1' } } }, { part: undefined })).toEqual([
      'part.rate',
      'part.more',
    ]);
    expect(changed({ extra: { a: '1', b: '2' } }, { extra: { b: '3', c: '4' } })).toEqual([
      'extra.a',
      'extra.b',
      'extra.c',
    ]);
  });

  it('compares the entries of a map as JSON', () => {
    expect(changed({ extra: { a: '{"x":1,"y":[2]}' } }, { extra: { a: '{"y":[2],"x":1}' } })).toStrictEqual(
      [],
    );
    expect(changed({ extra: { a: 'null' } }, { extra: {} })).toStrictEqual([]);
    expect(changed({ extra: {} }, { extra: { a: 'null' } })).toStrictEqual([]);
    expect(changed({ extra: { a: '0' } }, { extra: {} })).toEqual(['extra.a']);
    expect(changed({ extra: { a: '"1"' } }, { extra: { a: '1' } })).toEqual(['extra.a']);
  });

  it('takes what every object inherits for an entry only where it is one', () => {
    expect(changed({ extra: {} }, { extra: { constructor: '1' } })).toEqual(['extra.constructor']);
    expect(changed({ extra: { toString: '1' } }, { extra: { toString: '1' } })).toStrictEqual([]);
  });
});

it('decimal text is text: a number is not the same as its text', () => {
  expect(equalDecimalText('5', '5.0')).toBe(true);
  expect(equalDecimalText(5, '5')).toBe(false);
  expect(equalDecimalText('5', 5)).toBe(false);
});
