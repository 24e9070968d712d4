import { usualShape } from '../../src/feeds/definition';
import { rowKeys } from '../../src/feeds/row-keys';
import { parseJson } from '../../src/json/parse-json';

it.each([
  ['"a"', 'a'],
  ['5', '5'],
  ['5.0', '5'],
  ['9007199254740993', '9007199254740993'],
  ['-9007199254740993', '-9007199254740993'],
  ['9007199254740993.00', '9007199254740993'],
  ['653247040368672769', '653247040368672769'],
  ['340282366920938463463374607431768211456', '340282366920938463463374607431768211456'],
  ['1e18', '1000000000000000000'],
  ['1e400', null],
  ['0.5', null],
  ['9007199254740993.5', null],
  ['""', null],
])('the id %s is the key %j', (text, key) => {
  const row = parseJson(`{"id":${text},"no":${text}}`);
  expect(rowKeys(usualShape).id(row)).toBe(key);
  expect(rowKeys({ ...usualShape, idField: 'no' }).id(row)).toBe(key);
});

it.each([
  ['1767225600.123456789', 'seconds', 1767225600],
  ['1.767225600123456789e9', 'seconds', 1767225600],
  ['1767225600123456789', 'seconds', null],
  ['1e400', 'seconds', null],
  ['1767225600123.0', 'milliseconds', 1767225600.123],
  ['1767225600123.123456789', 'milliseconds', null],
] as const)('the time stamp %s in %s is second %s', (text, updatedFormat, second) => {
  const row = parseJson(`{"updated":${text}}`);
  expect(rowKeys({ ...usualShape, updatedFormat }).updated(row)).toBe(second);
});
