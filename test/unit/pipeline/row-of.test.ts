import fc from 'fast-check';
import { recordShape } from '../../../src/avro/record-shape';
import { readSchema } from '../../../src/avro/schemas';
import { parseJson } from '../../../src/json/parse-json';
import { createDecoder } from '../../../src/pipeline/records/decode';
import { createRowOf } from '../../../src/pipeline/records/row-of';
import { testFeed } from '../../support/feeds';
import { runs } from '../../support/runs';
import { fieldPaths } from '../../support/schema-versions';

it.each(['ipos', 'analysts', 'insights'])(
  '%s: the row that a record came from decodes to that record (property)',
  (name) => {
    const schema = readSchema(testFeed(name).schema);
    const decode = createDecoder(testFeed(name), recordShape(schema));
    const rowOf = createRowOf(recordShape(schema));
    const top = fieldPaths(schema).filter((path) => !path.includes('.'));
    const within = fieldPaths(schema).flatMap((path) => path.split('.')[1] ?? []);
    const odd = [
      '__proto__',
      'a.b',
      'unheard_of',
      'security.x',
      'security\\.x',
      '\ud800',
      'updated.x',
      'toString',
    ];
    const object = fc.dictionary(fc.constantFrom(...within, ...odd, 'symbol'), fc.jsonValue());
    const value = fc.oneof(fc.jsonValue(), object, fc.constantFrom('12', '', 0, '5.00', 'x\ud800', true));
    const row = fc.tuple(
      fc.dictionary(fc.constantFrom(...top, ...odd), value),
      fc.constantFrom<unknown>(5, '5', 5.5, 1767600431123),
    );
    fc.assert(
      fc.property(row, ([members, updated]) => {
        const shown = parseJson(JSON.stringify({ ...members, id: 'x', updated }));
        const [record] = decode([shown]).records;
        expect(decode([rowOf(record!.values)]).records).toEqual([record]);
      }),
      { numRuns: runs(50) },
    );
  },
);
