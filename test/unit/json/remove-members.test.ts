import fc from 'fast-check';
import { ExactNumber } from '../../../src/json/exact-number';
import { parseJson } from '../../../src/json/parse-json';
import { removeMembers } from '../../../src/json/remove-members';
import { runs } from '../../support/runs';

function without(value: unknown, ...paths: string[]) {
  const copy = structuredClone(value);
  return [copy, [...removeMembers(copy, paths)]];
}

it.each<[string, unknown, string, unknown]>([
  ['a member of each element', { a: [{ b: 1 }, 7, [{ b: 2, c: 3 }]] }, 'a.b', { a: [{}, 7, [{ c: 3 }]] }],
  ['a name with dots', { 'a.b': 1, '@odata.note': 2 }, '@odata.note', { 'a.b': 1 }],
  [
    'a member called as what objects inherit',
    { ['__proto__']: 1, toString: 2, c: 3 },
    'toString',
    { ['__proto__']: 1, c: 3 },
  ],
  ['null', { a: null }, 'a', {}],
])('%s is removed', (_, value, path, expected) => {
  expect(without(value, path)).toEqual([expected, [path]]);
});

it.each<[string, unknown, string]>([
  ['is inherited', { a: 1 }, 'toString'],
  ['lies within a text', { a: 'b' }, 'a.length'],
  ['lies within a list', { a: [1] }, 'a.0'],
])('nothing is removed when it %s', (_, value, path) => {
  expect(without(value, path)).toEqual([value, []]);
});

it('a number with all its digits has no members', () => {
  const row = { a: new ExactNumber('1.0000000000000000001') };
  expect([...removeMembers(row, ['a.toString', 'a.text'])]).toEqual([]);
  expect(String(row.a)).toBe('1.0000000000000000001');
});

it('lists may be nested deeper than the stack', () => {
  const depth = 50_000;
  const value = parseJson(`${'['.repeat(depth)}{"a":1,"b":2}${']'.repeat(depth)}`);
  expect([...removeMembers(value, ['a', 'c'])]).toEqual(['a']);
  let inner = value;
  while (Array.isArray(inner)) [inner] = inner;
  expect(inner).toEqual({ b: 2 });
});

/** The names on the way to every member, through lists. */
function members(value: unknown, way: readonly string[] = []): (readonly string[])[] {
  if (Array.isArray(value)) return value.flatMap((item) => members(item, way));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [
    [...way, name],
    ...members(inner, [...way, name]),
  ]);
}

it('removes the members at the paths, with all within, and nothing else (property)', () => {
  const name = fc.constantFrom('a', 'b', 'a.b', 'c');
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom(1, 'x', null),
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(name, tie('tree'), { maxKeys: 4 }),
    ),
  }));
  const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join('.'));
  fc.assert(
    fc.property(tree, fc.uniqueArray(path, { maxLength: 3 }), (value, paths) => {
      const [left, found] = without(value, ...paths);
      const before = members(value);
      const isGone = (way: readonly string[]) =>
        way.some((_, i) => paths.includes(way.slice(0, i + 1).join('.')));
      expect(members(left)).toEqual(before.filter((way) => !isGone(way)));
      const met = new Set(before.map((way) => way.join('.')));
      for (const one of found as string[]) expect(met).toContain(one);
      if (before.some(isGone)) expect(found).not.toEqual([]);
    }),
    { numRuns: runs(300) },
  );
});
