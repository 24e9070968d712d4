import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { idPaths, rowKeys } from '../../../src/feeds/row-keys';
import {
  type AnswerScanOptions,
  isListOrObject,
  type ScannedAnswer,
  scanAnswer,
} from '../../../src/json/answer-scan';
import { parseJson } from '../../../src/json/parse-json';
import { UnreadableRow } from '../../../src/json/unreadable-row';
import { runs } from '../../support/runs';

const usual = { key: 'rows', idPaths: ['id'], updatedPath: 'updated', clean: (part: string) => part };

function scanned(text: string | Buffer, options: Partial<AnswerScanOptions> = {}): ScannedAnswer {
  const limits = { rows: 1_000, nodes: 10_000 };
  const steps = scanAnswer(Buffer.from(text), { ...usual, limits, ...options });
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Of rows that were not read. */
function reasonsIn(answer: unknown): string[] {
  const rows = Array.isArray(answer) ? answer : (answer as { rows: unknown[] }).rows;
  return rows.filter((row) => row instanceof UnreadableRow).map(({ reason }) => reason);
}

const rows = fc.array(fc.jsonValue(), { maxLength: 6 });
const members = fc.array(
  fc.tuple(fc.constantFrom('rows', 'ok', 'errors', '', '__proto__', '"', '\\'), fc.jsonValue()),
  {
    maxLength: 4,
  },
);
const space = fc.constantFrom('', '', ' ', '\r\n\t ');
/** JSON with white space in it, and with members that come twice. */
const answer = fc
  .tuple(rows, fc.option(members), fc.array(space, { minLength: 8, maxLength: 8 }))
  .map(([items, beside, spaces]) => {
    const [a, b, c, d, e, f, g, h] = spaces;
    const texts = items.map((item) => JSON.stringify(item, null, d));
    const list = `${b}[${c}${texts.join(`${e},${f}`)}${g}]${h}`;
    if (beside === null) return `${a}${list}`;
    const others = beside.map(
      ([name, one]) => `${c}${JSON.stringify(name)}${d}:${e}${JSON.stringify(one)}${f}`,
    );
    return `${a}{${[...others, `${b}"ro\\u0077s"${h}:${list}`].join(',')}}${g}`;
  });

it('reads what JSON.parse reads (property)', () => {
  fc.assert(
    fc.property(answer, (text) => {
      expect(scanned(text)).toEqual({ kind: 'read', value: parseJson(text) });
    }),
    { numRuns: runs(150) },
  );
});

it('refuses what JSON.parse refuses, and calls what was cut off truncated (property)', () => {
  const odd = fc.constantFrom('', ',', ':', '[', ']', '{', '}', '"', '\\', '1', 'null', '\u0000');
  fc.assert(
    fc.property(answer, fc.nat(), fc.nat(3), odd, (text, place, length, put) => {
      const at = place % (text.length + 1);
      const cut = text.slice(0, at);
      if (isListOrObject(Buffer.from(cut)) && parsed(cut) === undefined)
        expect(scanned(cut)).toEqual({ kind: 'unread', why: 'truncated', at: expect.any(Number) });
      const changed = `${cut}${put}${text.slice(at + length)}`;
      if (!isListOrObject(Buffer.from(changed))) return;
      const value = parsed(changed);
      const read = scanned(changed);
      if (value !== undefined) expect(read).toEqual({ kind: 'read', value });
      else if (read.kind === 'read') expect(reasonsIn(read.value)).not.toStrictEqual([]);
    }),
    { numRuns: runs(300) },
  );
});

it('reads rows at a dotted path as JSON.parse reads them (property)', () => {
  const name = fc.constantFrom('data', 'list', 'data.list', 'list.rows', 'rows', '__proto__');
  const object = (value: fc.Arbitrary<string>) =>
    fc
      .array(fc.tuple(name, value), { maxLength: 4 })
      .map((all) => `{${all.map(([key, one]) => `${JSON.stringify(key)}:${one}`).join(',')}}`);
  const leaf = fc.constantFrom('[1,{"id":"a"}]', '[]', 'null', '{"rows":[2]}', '{}', '"x"');
  const deep = object(fc.oneof(leaf, object(fc.oneof(leaf, object(leaf)))));
  const keys = fc.constantFrom('data.list.rows', 'data.list', 'rows', '__proto__.rows', 'list.__proto__');
  fc.assert(
    fc.property(deep, keys, (text, key) => {
      expect(scanned(text, { key })).toEqual({ kind: 'read', value: JSON.parse(text) });
    }),
    { numRuns: runs(300) },
  );
});

it('counts rows at a dotted path, and what stands beside them at each level', () => {
  const limits = { rows: 2, nodes: 100 };
  const answer = (rows: string) => `{"meta":{"next":"n"},"data":{"count":2,"list":${rows}}}`;
  const key = 'data.list';
  expect(scanned(answer('[1,2]'), { key, limits })).toEqual({
    kind: 'read',
    value: { meta: { next: 'n' }, data: { count: 2, list: [1, 2] } },
  });
  expect(scanned(answer('[1,2,3]'), { key, limits })).toMatchObject({ kind: 'unread', why: 'rows' });
  const members = Array.from({ length: 20 }, (_, i) => `"m${i}":"${'x'.repeat(60_000)}"`).join(',');
  const wide = `{"data":{${members},"list":[]}}`;
  expect(scanned(wide, { key })).toMatchObject({ kind: 'unread', why: 'beside' });
});

it('reads bytes that are not UTF-8 as a decoder of text does', () => {
  const bytes = Buffer.from('{"rows":["a?b","?"]}');
  for (const [i, byte] of bytes.entries()) if (byte === 0x3f) bytes[i] = 0xe2;
  expect(scanned(bytes)).toEqual({ kind: 'read', value: { rows: ['a\ufffdb', '\ufffd'] } });
});

it('stops at a row, and at a list or an object, too many', () => {
  const limits = { rows: 3, nodes: 4 };
  expect(scanned('{"rows":[1,2,3]}', { limits })).toEqual({ kind: 'read', value: { rows: [1, 2, 3] } });
  expect(scanned('{"rows":[1,2,3,4', { limits })).toMatchObject({ kind: 'unread', why: 'rows' });
  expect(scanned('[{},[{}],[]]', { limits })).toMatchObject({ kind: 'read' });
  expect(scanned('[{},[{}],[[', { limits })).toMatchObject({ kind: 'unread', why: 'truncated' });
  expect(scanned('[{},[{}],[[]]]', { limits })).toMatchObject({ kind: 'unread', why: 'nodes' });
});

describe('a row of more values than a row may hold', () => {
  it.each([
    ['lists', `[${'[],'.repeat(600_000)}[]]`],
    ['numbers', `[${'1,'.repeat(1_000_000)}1]`],
    ['levels', `${'['.repeat(2_000_000)}${']'.repeat(2_000_000)}`],
  ])('(%s) is not parsed, but known by its id and its time stamp', (_, value) => {
    const row = `{"x":${value}, "updated" : 12,"id":"a","ids":1}`;
    const { value: read } = scanned(`{"rows":[1,${row},{"id":"b"}]}`) as { value: { rows: unknown[] } };
    const [first, unread, last] = read.rows;
    expect([first, last]).toEqual([1, { id: 'b' }]);
    expect(unread).toBeInstanceOf(UnreadableRow);
    expect(unread).toMatchObject({
      id: 'a',
      updated: 12,
      reason: 'the row holds more than 1000000 values',
      raw: row.slice(0, 65_536),
      whole: { sha256: createHash('sha256').update(row).digest('hex'), bytes: row.length },
    });
  });

  it('is known by the members that the feed names', () => {
    const row = `{"x":[${'1,'.repeat(1_000_000)}1],"updated":1,"id":"no","order_no":"A-1","modified\\u005fat":"2026-01-31"}`;
    expect(keysOf(row, 'order_no', 'modified_at')).toEqual(['A-1', 1_769_817_600]);
  });

  it('is known by the paths that the feed names', () => {
    const list = `[${'1,'.repeat(1_000_000)}1]`;
    const row = `{"fields":{"x":${list},"day":"2026-01-31","key":{"no":7}},"symbol":"A|B","sub.day":"x","sub":{"day":"y"}}`;
    expect(keysOf(row, ['symbol', 'fields.key.no'], 'fields.day')).toEqual(['A\\|B|7', 1_769_817_600]);
    expect(keysOf(row, 'sub.day', 'fields.day')[0]).toBe('x');
    expect(keysOf(row, ['symbol', 'fields.no'], 'fields')).toEqual([null, null]);
  });

  function keysOf(row: string, idField: string | readonly string[], updatedField: string): unknown[] {
    const feed = { idField, updatedField, updatedFormat: 'iso8601' } as const;
    const options = { idPaths: idPaths(feed), updatedPath: updatedField };
    const { value } = scanned(`{"rows":[${row}]}`, options) as { value: { rows: unknown[] } };
    expect(value.rows[0]).toBeInstanceOf(UnreadableRow);
    const keys = rowKeys(feed);
    return [keys.id(value.rows[0]), keys.updated(value.rows[0])];
  }

  it('has no id where it is no object, and ends the answer where it is no JSON', () => {
    const list = `[${'1,'.repeat(1_000_000)}1]`;
    expect(scanned(`[${list}]`)).toMatchObject({ value: [{ id: undefined, updated: undefined }] });
    expect(scanned(`[{"x":${list} "id":1}]`)).toMatchObject({ kind: 'unread', why: 'damaged' });
    expect(scanned(`[{"x":${list},"id":}]`)).toMatchObject({ kind: 'unread', why: 'damaged' });
  });
});

describe('a row that is not JSON', () => {
  const reasonOf = (row: string) => {
    const read = scanned(`{"rows":[{"id":"a"},${row},{"id":"c"}]}`) as { value?: { rows: unknown[] } };
    const [first, bad, last] = read.value!.rows;
    expect([first, last]).toEqual([{ id: 'a' }, { id: 'c' }]);
    expect(bad).toBeInstanceOf(UnreadableRow);
    expect(bad).toMatchObject({ raw: row, whole: { bytes: Buffer.byteLength(row) } });
    return (bad as UnreadableRow).reason;
  };

  it.each([
    ['{"id":"b","x":NaN}', 'row 2 of the page (id "b") is not JSON: NaN at x'],
    [
      '{"x":-Infinity,"id":9007199254740993}',
      'row 2 of the page (id 9007199254740993) is not JSON: -Infinity at x',
    ],
    ['{"id":NaN,"x":1}', 'row 2 of the page is not JSON: NaN at id'],
    ['{"x":[[1,{"y z":[2,None]}],NaN]}', 'row 2 of the page is not JSON: None at x[0][1].y z[1]'],
    ['{ "ä" : "\\x41" , "id" : null}', 'row 2 of the page (id null) is not JSON: "\\x41" at ä'],
    [`{"x":${'9'.repeat(99)}n}`, `row 2 of the page is not JSON: ${'9'.repeat(79)}… at x`],
  ])('only for a value in it is known by its place: %s', (row, reason) => {
    expect(reasonOf(row)).toBe(reason);
  });

  it('is known by the members that the feed names', () => {
    const options = { idPaths: ['no'], updatedPath: 'at' };
    const { value } = scanned('[{"no":7,"at":5,"x":NaN}]', options) as { value: [UnreadableRow] };
    const keys = rowKeys({ idField: 'no', updatedField: 'at', updatedFormat: 'seconds' });
    expect([keys.id(value[0]), keys.updated(value[0])]).toEqual(['7', 5]);
  });

  it.each([
    ['a comma is missing', '{"id":"b" "x":1}', '"x"'],
    ['a value is missing', '{"id":}', '}'],
    ['a comma too many', '{"id":"b",}', '}'],
    ['a quote too many', '{"id":"b"","x":1}', '",'],
    ['a quote too few', '{"id":"b,"x":NaN}', 'x"'],
    ['a name without quotes', '{id:"b","x":NaN}', 'id:'],
    ['brackets of two kinds', '{"id":["b"}', '}'],
    ['two values', '{"id":"b","x":NaN 1}', 'NaN 1}'],
    ['a word in its place', 'NaN', 'NaN'],
  ])('in another way ends the answer at its place: %s', (_, row, comes) => {
    const text = `{"rows":[{"id":"ä"},${row},{"id":"c"}]}`;
    const read = scanned(text) as { readonly at: number };
    expect(read).toMatchObject({ kind: 'unread', why: 'damaged' });
    expect(Buffer.from(text).toString('utf8', read.at).startsWith(comes)).toBe(true);
  });

  it('a damaged member beside the rows is named by its place too', () => {
    const text = '{"meta":{"at":NaN},"rows":[]}';
    expect(scanned(text)).toEqual({ kind: 'unread', why: 'damaged', at: text.indexOf('NaN') });
  });
});

it('a long text of escapes, of levels or of white space is read in steps', () => {
  for (const text of [`["${'\\"'.repeat(200_000)}"]`, `[${' '.repeat(10)}${'[1],'.repeat(90_000)}1]`]) {
    const steps = scanAnswer(Buffer.from(text), { ...usual, limits: { rows: 100_000, nodes: 100_000 } });
    let count = 0;
    let step = steps.next();
    for (; !step.done; step = steps.next()) count++;
    expect(step.value).toEqual({ kind: 'read', value: JSON.parse(text) });
    expect(count).toBeGreaterThan(3);
  }
});
