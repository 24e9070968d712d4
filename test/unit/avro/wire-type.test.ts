import { wireType } from '../../../src/avro/codec/wire-type';

const own = {
  type: 'record',
  name: 'R',
  fields: [
    { name: 'extra', type: { type: 'map', values: 'string' } },
    { name: 'more', type: ['null', 'string'], default: null },
  ],
};
const older = { ...own, fields: own.fields.slice(0, 1) };

it('a map keeps an entry of any name, whichever schema it was written by', () => {
  const extra = JSON.parse('{"__proto__":"a","constructor":"b","":"c"}') as Record<string, string>;
  const reader = wireType<{ extra: object }>(own as never, 1);
  reader.addWriter(2, older as never);
  const values = [
    reader.decode(reader.encode({ extra })),
    reader.decode(wireType<object>(older as never, 2).encode({ extra })),
  ];
  for (const value of values) expect(Object.entries(value.extra)).toEqual(Object.entries(extra));
});
