import { idOfLonger, isIdOf } from '../../../../src/cli/init/row-members';

const row = (id: number | null, more: object = {}) => ({ id, ...more });
const two = ['a', 'b'].map((type) => ({ id: 1, type }));

it.each([
  ['stays, if rows differ by it', [row(1), row(2)], 'id'],
  ['stays, if the same row comes twice', [row(1, { n: 1 }), row(1, { n: 1 })], 'id'],
  ['stays, if rows lack it', [row(null, { n: 1 }), row(null, { n: 2 })], 'id'],
  ['is joined by the type of the record', two, ['type', 'id']],
  [
    'is joined by a type of another name',
    two.map(({ id, type }) => ({ id, recordType: type })),
    ['recordType', 'id'],
  ],
  ['gives way to a sure one', two.map((one) => ({ ...one, uuid: `u${one.type}` })), 'uuid'],
  ['is none, if the type does not tell rows apart', [...two, row(1, { type: 'a', n: 1 })], null],
  ['is none by a member that may change', [row(1, { name: 'a' }), row(1, { name: 'b' })], null],
])('the id %s', (_, rows, expected) => {
  expect(idOfLonger(rows, 'id')).toEqual(expected);
});

it.each([
  [['type', 'id'], true],
  [['id', 'type'], true],
  [['id', 'nothing'], false],
  [['id'], false],
])('whether %j name rows: %j', (members, isId) => {
  expect(isIdOf(two, members)).toBe(isId);
});
