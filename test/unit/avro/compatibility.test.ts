import { incompatibility, incompatible } from '../../../src/avro/registry/compatibility';
import type { AvroSchema } from '../../../src/avro/registry/registry';
import { namedRows } from '../../support/named-rows';

type Field = { name: string; type: AvroSchema; default?: unknown; aliases?: string[] };

const nullable = (name: string, type: AvroSchema): Field => ({ name, type: ['null', type], default: null });
const ipo = (...fields: Field[]): AvroSchema => ({
  type: 'record',
  name: 'Ipo',
  namespace: 'marketdata.ipos',
  fields: [{ name: 'id', type: 'string' }, ...fields],
});
const security = (...fields: Field[]): AvroSchema => ({ type: 'record', name: 'Security', fields });

const states = (...symbols: string[]): AvroSchema => ({ type: 'enum', name: 'State', symbols });

function register(...versions: AvroSchema[]): () => void {
  const earlier = versions.slice(0, -1).map((schema, i) => ({ version: i + 1, schema }));
  return () => {
    const reason = incompatibility(versions.at(-1)!, earlier);
    if (reason !== null) throw incompatible('ipos-value', reason);
  };
}

describe('compatibility of schemas', () => {
  it('takes a first schema, and the same again', () => {
    expect(register(ipo())).not.toThrow();
    expect(register(ipo(), ipo())).not.toThrow();
  });

  it('takes a nullable field that comes or goes', () => {
    expect(register(ipo(), ipo(nullable('cusip', 'string')))).not.toThrow();
    expect(register(ipo(nullable('cusip', 'string')), ipo())).not.toThrow();
  });

  it('takes documentation and attributes of our own', () => {
    const documented = { ...(ipo() as object), doc: 'An offering.', decimalText: true };
    expect(register(ipo(), documented)).not.toThrow();
  });

  it.each(
    namedRows<[AvroSchema[], string]>({
      'a new field without default, which would make old records unreadable': [
        [ipo(), ipo({ name: 'sic', type: 'long' })],
        'new schema for ipos-value: it cannot read what version 1 wrote: field sic: it is not written and has no default',
      ],
      'a field gone that old readers need': [
        [ipo({ name: 'sic', type: 'long' }), ipo()],
        'new schema for ipos-value: readers of version 1 cannot read what it writes: field sic: it is not written and has no default',
      ],
      'another type': [
        [ipo(nullable('sic', 'long')), ipo(nullable('sic', 'string'))],
        'new schema for ipos-value: readers of version 1 cannot read what it writes: field sic: cannot read "string" as ["null","long"]',
      ],
      'a wider number, which only new readers can read': [
        [ipo(nullable('sic', 'long')), ipo(nullable('sic', 'double'))],
        'readers of version 1 cannot read what it writes: field sic: cannot read "double" as ["null","long"]',
      ],
      'another text in an enum': [
        [ipo(nullable('state', states('open'))), ipo(nullable('state', states('open', 'held', 'cancelled')))],
        'readers of version 1 cannot read what it writes: field state: its enum lacks held, cancelled',
      ],
      'a field that may now be null': [
        [
          ipo({ name: 'sic', type: 'long', default: 0 }),
          ipo({ name: 'sic', type: ['null', 'long'], default: null }),
        ],
        'readers of version 1 cannot read what it writes: field sic: cannot read "null" as "long"',
      ],
      'a change inside a nullable nested record': [
        [
          ipo(nullable('security', security(nullable('cik', 'string')))),
          ipo(nullable('security', security(nullable('cik', 'long')))),
        ],
        'field security.cik: cannot read "long" as ["null","string"]',
      ],
      'a change inside a map or list': [
        [
          ipo({ name: 'extra', type: { type: 'map', values: 'string' } }),
          ipo({ name: 'extra', type: { type: 'map', values: 'long' } }),
        ],
        'field extra{}: cannot read "long" as "string"',
      ],
      'another name of the record': [
        [ipo(), { ...(ipo() as object), name: 'Offering' }],
        'readers of version 1 cannot read what it writes: the whole schema: no alias found for marketdata.ipos.Offering',
      ],
      'what only an older version than the last cannot take': [
        [ipo(nullable('sic', 'string')), ipo(), ipo(nullable('sic', 'long'))],
        'readers of version 1 cannot read what it writes: field sic',
      ],
    }),
  )('refuses %s', (_, versions, message) => {
    const registering = register(...versions);
    expect(registering).toThrow(expect.objectContaining({ code: 'SCHEMA_INCOMPATIBLE' }));
    expect(registering).toThrow(message);
  });

  it('comes to an end with a type that contains itself', () => {
    const node = (type: AvroSchema): AvroSchema => ({
      type: 'record',
      name: 'Node',
      fields: [
        { name: 'next', type: ['null', 'Node'], default: null },
        { name: 'value', type },
      ],
    });
    expect(register(node('long'), node('long'))).not.toThrow();
    expect(register(node('long'), node('string'))).toThrow('ipos-value');
  });

  it('does not let one schema lean on a type of another', () => {
    const leaning = ipo(nullable('security', 'marketdata.ipos.Security'));
    expect(register(ipo(nullable('security', security())), leaning)).toThrow(
      'new schema for ipos-value: it is not an Avro schema: undefined type name: marketdata.ipos.Security',
    );
  });
});
