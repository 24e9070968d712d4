import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

const root = path.join(__dirname, '..', '..');
const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
const spec = read('docs/spec.md');

const invariants = spec.split(/^\*\*(?=I\d+ )/m).slice(1);
const enforced = invariants.map((text) => ({
  name: /^I\d+ [^.]+/.exec(text)![0],
  tests: [...text.matchAll(/^- `([^`]+)` › (.+)$/gm)].map(([, file, name]) => ({ file: file!, name: name! })),
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

  it.each(enforced)('$name names tests that exist', ({ tests }) => {
    expect(tests.length).toBeGreaterThan(0);
    for (const { file, name } of tests) {
      expect({ file, exists: existsSync(path.join(root, file)) }).toEqual({ file, exists: true });
      const titles = [
        ...read(file).matchAll(/\b(?:it|describe)(?:\.each[\s\S]*?\)\s*)?\(\s*(['"`])([\s\S]*?)\1/g),
      ].map(([, , title]) => title);
      expect({ file, titles }).toEqual({
        file,
        titles: expect.arrayContaining([expect.stringContaining(name)]),
      });
    }
  });

  it('links to files that exist', () => {
    const links = [...spec.matchAll(/\]\(([^)#]+)\)/g)].map(([, link]) => link!);
    expect(links.filter((link) => !existsSync(path.join(root, 'docs', link)))).toEqual([]);
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
    expect([...fieldsOf(schema)].filter(([, field]) => !field.doc).map(([name]) => name)).toEqual([]);
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
