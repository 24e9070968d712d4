import Big from 'big.js';
import fc from 'fast-check';
import { ExactNumber, isPlainNumber } from '../../../src/json/exact-number';
import { jsonText, jsonTextAsSent, recordJson } from '../../../src/json/json-text';
import { parseJson } from '../../../src/json/parse-json';
import { runs } from '../../support/runs';

const digits = (least: number, most: number) =>
  fc.stringMatching(new RegExp(`^[0-9]{${least},${most}}$`)).map((text) => text.replace(/^0+(?=\d)/, ''));
/** A number as JSON may have it, of any length. */
const number = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(digits(1, 15), digits(15, 19), digits(20, 40), fc.constantFrom('0', '9007199254740993')),
    fc.option(fc.oneof(fc.stringMatching(/^\d{1,8}$/), fc.stringMatching(/^\d{12,30}$/)), { nil: '' }),
    fc.option(fc.tuple(fc.constantFrom('e', 'E', 'e+', 'E-'), fc.integer({ min: 0, max: 450 }))),
  )
  .map(([sign, whole, fraction, exponent]) => {
    const decimals = fraction === '' ? '' : `.${fraction}`;
    return `${sign}${whole}${decimals}${exponent === null ? '' : exponent.join('')}`;
  });
/** JSON texts with such numbers, and with texts that look like them. */
const json = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    number,
    fc.constantFrom('null', 'true', '"\\""', '"\\\\"', '"é"'),
    number.map((text) => `"${text}"`),
    fc.string().map((text) => JSON.stringify(text)),
    fc.array(tie('value'), { maxLength: 4 }).map((items) => `[ ${items.join(' ,\n')}]`),
    fc
      .array(fc.tuple(fc.oneof(fc.string(), number, fc.constant('__proto__')), tie('value')), {
        maxLength: 4,
      })
      .map((all) => `{${all.map(([name, value]) => `${JSON.stringify(name)}: ${value}`).join(',')} }`),
  ),
})).value;

/** As JSON.parse would have read it. */
const rounded = (text: string) => parseJson(text, Number);

it('a number is the number of its text, or keeps the text (property)', () => {
  let [plain, exact] = [0, 0];
  fc.assert(
    fc.property(number, (text) => {
      const value = (parseJson(`{"a":[${text}]}`) as { a: unknown[] }).a[0];
      if (typeof value === 'number') {
        plain++;
        expect(new Big(value).eq(text)).toBe(true);
        expect(!Number.isInteger(value) || Number.isSafeInteger(value)).toBe(true);
      } else {
        exact++;
        expect(value).toBeInstanceOf(ExactNumber);
        expect(String(value)).toBe(text);
        expect(Object.is(Number(value), Number(text))).toBe(true);
      }
    }),
    { numRuns: runs(500) },
  );
  expect(Math.min(plain, exact)).toBeGreaterThan(20);
});

it('everything else is what JSON.parse reads (property)', () => {
  fc.assert(
    fc.property(json, (text) => {
      expect(rounded(text)).toEqual(JSON.parse(text));
    }),
    { numRuns: runs(500) },
  );
});

it('what JSON.parse refuses is refused (property)', () => {
  const odd = fc.constantFrom('', '"', '\\', ',', ':', '1', '.', 'e', '-', '{', ']', '9007199254740993');
  fc.assert(
    fc.property(json, fc.nat(), fc.nat(2), odd, (text, place, length, put) => {
      const at = place % (text.length + 1);
      const changed = `${text.slice(0, at)}${put}${text.slice(at + length)}`;
      let expected: unknown;
      try {
        expected = JSON.parse(changed);
      } catch {
        expect(() => parseJson(changed)).toThrow(SyntaxError);
        return;
      }
      expect(rounded(changed)).toEqual(expected);
    }),
    { numRuns: runs(1_000) },
  );
});

it('written again, every number has its digits (property)', () => {
  fc.assert(
    fc.property(json, (any) => {
      // JSON.stringify writes the negative zero as 0.
      const text = any.replaceAll('-0', '0');
      for (const write of [jsonText, jsonTextAsSent]) {
        const again = parseJson(write(parseJson(text)), (one) => new Big(one));
        expect(again).toEqual(parseJson(text, (one) => new Big(one)));
      }
    }),
    { numRuns: runs(300) },
  );
});

it.each([
  '{9007199254740993:1}',
  '{"a":1,9007199254740993 : 1}',
  '09007199254740993',
  '9007199254740993.',
  '+9007199254740993',
  '1e',
  '123456789012345678e',
  '12345678901234567 8',
  '12345678901234567x',
])('%s is no JSON', (text) => {
  expect(() => parseJson(text)).toThrow(SyntaxError);
});

it.each([
  ['0', true],
  ['-0', true],
  ['-0.0', true],
  ['1E5', true],
  ['1e15', true],
  ['5.00', true],
  ['1.50000000000000000000', true],
  ['0.30000000000000004', true],
  ['9007199254740991', true],
  ['9007199254740992', false],
  ['1e16', false],
  ['0.10000000000000001', false],
  ['12345678.123456789012', false],
  ['1e400', false],
  ['-1e400', false],
  ['0.1e-400', false],
  ['0e400', true],
])('%s is a number of JavaScript: %s', (text, expected) => {
  expect(isPlainNumber(text)).toBe(expected);
  expect(typeof parseJson(text)).toBe(expected ? 'number' : 'object');
});

it('a number deeper than the stack, and one of a million digits, keep their text', () => {
  const deep = `${'['.repeat(200_000)}1e400${']'.repeat(200_000)}`;
  let value = parseJson(deep);
  while (Array.isArray(value)) value = value[0];
  expect(String(value)).toBe('1e400');
  expect(jsonText(parseJson(deep))).toBe(deep);
  const long = '7'.repeat(1_000_000);
  expect(jsonTextAsSent(parseJson(`[${long}]`))).toBe(`[${long}]`);
});

it('members are written in a fixed order, or in the order in which they came', () => {
  const value = parseJson('{"b":1e400,"a":{"d":1,"c":"1e400"}}');
  expect(jsonText(value)).toBe('{"a":{"c":"1e400","d":1},"b":1e400}');
  expect(jsonTextAsSent(value)).toBe('{"b":1e400,"a":{"d":1,"c":"1e400"}}');
});

it('a record with long longs is written as JSON.stringify writes any other', () => {
  expect(recordJson({ b: 653247040368672769n, a: [1, null, 'x'], c: undefined })).toBe(
    '{"b":653247040368672769,"a":[1,null,"x"]}',
  );
  expect(recordJson({ b: 1, a: 0.5 })).toBe('{"b":1,"a":0.5}');
});
