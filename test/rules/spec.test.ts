import { readFileSync } from 'node:fs';
import path from 'node:path';
import { namedTests } from '../support/named-tests';

const root = path.join(__dirname, '..', '..');
const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
const spec = read('docs/spec.md');

const enforced = spec
  .split(/^\*\*(?=I\d+ )/m)
  .slice(1)
  .map((text) => ({
    name: /^I\d+ [^.]+/.exec(text)![0],
    tests: namedTests(text).filter(({ title }) => title !== undefined),
  }));

describe('docs/spec.md', () => {
  it('lists the invariants of the contract once, in order', () => {
    expect(enforced.map(({ name }) => name.split(' ')[0])).toEqual([
      'I1',
      'I2',
      'I3',
      'I4',
      'I5',
      'I6',
      'I7',
      'I8',
      'I9',
      'I10',
      'I11',
    ]);
  });

  it.each(enforced)('$name is enforced by a test', ({ tests }) => {
    expect(tests).not.toEqual([]);
  });
});

describe('schemas', () => {
  const files = [
    'insight',
    'analyst',
    'ipo',
    'envelope',
    'deal-status-changed',
    'rating-changed',
    'source-offset',
    'dead-letter',
  ];
  type Field = { name: string; doc?: string; type: unknown };

  function* fieldsOf(schema: { fields: Field[] }, prefix = ''): Generator<[string, Field]> {
    for (const field of schema.fields) {
      yield [prefix + field.name, field];
      for (const branch of [field.type].flat()) {
        if (typeof branch === 'object' && branch !== null && 'fields' in branch)
          yield* fieldsOf(branch as never, `${prefix}${field.name}.`);
      }
    }
  }

  it.each(files)('%s.avsc documents every field', (file) => {
    const schema = JSON.parse(read(`schemas/${file}.avsc`));
    expect(schema.doc).toBeTruthy();
    expect([...fieldsOf(schema)].filter(([, field]) => !field.doc).map(([name]) => name)).toStrictEqual([]);
  });

  it.each(['insight', 'analyst', 'ipo'])(
    '%s.avsc: all but id, updated and extra can be null and are by default',
    (file) => {
      const fields = [...fieldsOf(JSON.parse(read(`schemas/${file}.avsc`)))].filter(
        ([name]) => !['id', 'updated', 'extra'].includes(name),
      );
      for (const [name, field] of fields) {
        expect({
          name,
          null: (field.type as unknown[])[0],
          default: (field as { default?: unknown }).default,
        }).toEqual({ name, null: 'null', default: null });
      }
    },
  );
});
