import { shapeOf } from '../../../src/avro/record-shape';
import type { AvroSchema } from '../../../src/avro/registry/registry';
import { coercionOf, DRIFTED, NUMERIC } from '../../../src/pipeline/records/coerce';

const texts: AvroSchema = { type: 'array', items: 'string' };

it.each<[AvroSchema, unknown, unknown]>([
  ['string', 'x', 'x'],
  ['string', '', ''],
  ['string', 'x\ud800', 'x\ufffd'],
  ['string', 12, '12'],
  ['string', 1.5, '1.5'],
  ['string', 2 ** 53 - 1, '9007199254740991'],
  ['string', 2 ** 53, DRIFTED],
  ['string', true, DRIFTED],
  ['string', ['x'], DRIFTED],
  ['long', 2 ** 52, 2 ** 52],
  ['long', -(2 ** 52), -(2 ** 52)],
  ['long', 2 ** 52 + 1, DRIFTED],
  ['long', -(2 ** 52) - 1, DRIFTED],
  ['long', '12', 12],
  ['long', '-12', -12],
  ['long', '12.00', 12],
  ['long', '0.0', 0],
  ['long', '12.5', DRIFTED],
  ['long', '12.', DRIFTED],
  ['long', '12 ', DRIFTED],
  ['long', ' 12', DRIFTED],
  ['long', '1e3', DRIFTED],
  ['long', '--12', DRIFTED],
  ['long', '0x10', DRIFTED],
  ['long', '1200', 1200],
  ['long', 12.5, DRIFTED],
  ['long', true, DRIFTED],
  ['long', '', null],
  ['int', 2 ** 31 - 1, 2 ** 31 - 1],
  ['int', 2 ** 31, DRIFTED],
  ['int', -(2 ** 31), DRIFTED],
  ['int', '12', 12],
  ['int', '', null],
  ['double', 1.5, 1.5],
  ['double', Number.POSITIVE_INFINITY, DRIFTED],
  ['double', '1.5', 1.5],
  ['double', '-1.50', -1.5],
  ['double', '15e-1', 1.5],
  ['double', '0.1000000000000000055511151231257827', DRIFTED],
  ['double', '1e999', DRIFTED],
  ['double', '1e9999', DRIFTED],
  ['double', 'x', DRIFTED],
  ['double', true, DRIFTED],
  ['double', ['1'], DRIFTED],
  ['double', '', null],
  ['float', '1.5', 1.5],
  ['float', '', null],
  ['boolean', true, true],
  ['boolean', false, false],
  ['boolean', 'true', true],
  ['boolean', 'false', false],
  ['boolean', '', null],
  ['boolean', 1, DRIFTED],
  ['boolean', 'TRUE', DRIFTED],
  [texts, ['x', 'y\ud800', 1], ['x', 'y\ufffd', '1']],
  [texts, [], []],
  [texts, ['x', null], DRIFTED],
  [texts, 'x', DRIFTED],
  [texts, '', null],
  [{ type: 'array', items: 'long' }, [1], DRIFTED],
  [{ type: 'map', values: 'string' }, ['x'], DRIFTED],
  [{ type: 'map', items: 'string' } as unknown as AvroSchema, ['x'], DRIFTED],
  ['bytes', 'x', DRIFTED],
  ['bytes', '', DRIFTED],
  [['null', 'string'], 'x', 'x'],
  [['null', 'string', 'long'], 'x', DRIFTED],
])('to %j: %j is %p', (type, raw, expected) => {
  expect(coercionOf(shapeOf(type), false)(raw)).toEqual(expected);
});

it('empty text is unknown if the feed says so, and every value of an unknown type drifts', () => {
  expect(coercionOf(shapeOf('string'), true)('')).toBeNull();
  expect(coercionOf(shapeOf('string'), true)('x')).toBe('x');
  expect(coercionOf(shapeOf('bytes'), true)('x')).toBe(DRIFTED);
});

it.each([
  ['1', true],
  ['-12.50', true],
  ['1.25e10', true],
  ['1E+10', true],
  ['1e-10', true],
  ['1e123', true],
  ['1e1234', false],
  ['1e', false],
  ['1ex', false],
  ['1.', false],
  ['.5', false],
  ['1.x', false],
  ['x1', false],
  ['1x', false],
  ['1e10x', false],
  ['', false],
])('%j is a decimal number: %p', (text, is) => {
  expect(NUMERIC.test(text)).toBe(is);
});
