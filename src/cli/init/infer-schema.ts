import type { AvroSchema } from '../../avro/registry/registry';
import type { FieldSchema, RecordSchema } from '../../avro/schemas';
import type { TimeFormat } from '../../feeds/definition';
import { idPaths } from '../../feeds/row-keys';
import { ExactNumber, isJsonObject } from '../../json/exact-number';
import type { IdField, JsonObject } from './row-members';

export interface FeedKeys {
  readonly idField: IdField;
  /** Null: rows do not say it. */
  readonly updatedField: string | null;
  readonly updatedFormat: TimeFormat;
}

export interface InferredSchema {
  readonly schema: RecordSchema;
  /** Members that the rows do not tell the type of, with the reason. They are kept in `extra`. */
  readonly leftOut: readonly string[];
}

/** The common properties of all values of a member. */
type Kind =
  | { readonly is: 'nothing' | 'mixed' }
  | { readonly is: 'boolean' | 'long' | 'double' | 'string' }
  | { readonly is: 'record'; readonly members: ReadonlyMap<string, Kind> }
  | { readonly is: 'array'; readonly items: Kind };

/** A schema that every one of these rows fits. All members may be missing in other rows, except for id and time. */
export function inferSchema(feed: string, rows: readonly JsonObject[], keys: FeedKeys): InferredSchema {
  const leftOut: string[] = [];
  // A change event has types with these names in the same namespace.
  const typeNames = new Set(['Envelope', 'Source']);
  const { members } = rows.map(kindOf).reduce(joined) as Extract<Kind, { is: 'record' }>;
  const { updatedField, updatedFormat } = keys;
  const ids = idPaths(keys);
  const typeOfId = (path: string) =>
    kindAt(members, path)?.is === 'long' && path !== 'id' ? 'long' : 'string';
  const required = new Map<string | null, AvroSchema>([
    ...ids.map((path) => [path, typeOfId(path)] as const),
    [updatedField, updatedFormat === 'iso8601' ? 'string' : 'long'],
  ]);
  const docs = new Map<string | null, string>([
    ...ids.map((path) => [path, 'Names the record.'] as const),
    [updatedField, 'When the record was last updated. A change of this field alone publishes nothing.'],
  ]);
  const schema = recordOf(pascalCase(feed), members, '');
  const extra = {
    name: 'extra',
    type: { type: 'map', values: 'string' },
    default: {},
    doc: 'Members that this schema does not have, and values that do not fit it, as JSON text under their path.',
  } as unknown as FieldSchema;
  return {
    schema: { ...schema, namespace: feed, fields: [...schema.fields, extra] },
    leftOut,
  };

  function recordOf(name: string, of: ReadonlyMap<string, Kind>, prefix: string): RecordSchema {
    const names = new Set<string>(prefix === '' ? ['extra'] : []);
    const list = [...of].flatMap(([vendorName, kind]): FieldSchema[] => {
      const path = prefix + vendorName;
      const key = required.get(path);
      const type = vendorName === '__proto__' ? null : (key ?? typeOf(kind, name, path));
      if (type === null) {
        leftOut.push(
          `${path}: ${kind.is === 'mixed' ? 'values of different types' : 'no value to tell its type by'}`,
        );
        return [];
      }
      const fieldName = unique(vendorName.replace(/[^A-Za-z0-9_]/g, '_').replace(/^(?=\d)/, '_'), names);
      // Within another member, which may be null, a key may be null, too.
      const isNeeded = key !== undefined && prefix === '';
      const field: FieldSchema = {
        name: fieldName,
        ...(isNeeded ? { type } : { type: ['null', type] as AvroSchema, default: null }),
        ...(key !== undefined && { doc: docs.get(path)! }),
      };
      return [fieldName === vendorName ? field : { ...field, vendorName }];
    });
    return { type: 'record', name: unique(name, typeNames), fields: list };
  }

  function typeOf(kind: Kind, parent: string, path: string): AvroSchema | null {
    switch (kind.is) {
      case 'nothing':
      case 'mixed':
        return null;
      case 'record':
        return kind.members.size === 0
          ? null
          : (recordOf(
              parent + pascalCase(path.split('.').at(-1)!),
              kind.members,
              `${path}.`,
            ) as unknown as AvroSchema);
      case 'array': {
        const items = typeOf(kind.items, parent, path);
        return items === null ? null : ({ type: 'array', items } as unknown as AvroSchema);
      }
      case 'long':
        return hasFractions(path) ? 'double' : 'long';
      default:
        return kind.is;
    }
  }
}

const measures = new Set(
  'price cost fee rate ratio percent percentage pct yield discount tax score weight latitude longitude lat lng lon'.split(
    ' ',
  ),
);

/** Whether numbers of this name have fractions, even if all those seen are whole. A field cannot become a `double` later. */
function hasFractions(path: string): boolean {
  const words = path.split(/[^A-Za-z]+|(?<=[a-z])(?=[A-Z])/);
  return measures.has(words.at(-1)!.toLowerCase());
}

function kindOf(value: unknown): Kind {
  if (value === null || value === undefined) return { is: 'nothing' };
  if (typeof value === 'boolean' || typeof value === 'string')
    return { is: typeof value as 'boolean' | 'string' };
  if (typeof value === 'number') return { is: Number.isInteger(value) ? 'long' : 'double' };
  if (value instanceof ExactNumber) {
    if (value.toLong() !== null) return { is: 'long' };
    return { is: value.toDouble() === null ? 'string' : 'double' };
  }
  if (Array.isArray(value))
    return { is: 'array', items: value.map(kindOf).reduce(joined, { is: 'nothing' }) };
  if (!isJsonObject(value)) return { is: 'mixed' };
  return { is: 'record', members: new Map(Object.entries(value).map(([name, of]) => [name, kindOf(of)])) };
}

/** As `valueAtPath` finds a value: the member with the longer name is tried first. */
function kindAt(members: ReadonlyMap<string, Kind>, path: string): Kind | undefined {
  const found = members.get(path);
  for (
    let dot = path.lastIndexOf('.');
    found === undefined && dot > 0;
    dot = path.lastIndexOf('.', dot - 1)
  ) {
    const holder = members.get(path.slice(0, dot));
    if (holder?.is !== 'record') continue;
    const within = kindAt(holder.members, path.slice(dot + 1));
    if (within !== undefined) return within;
  }
  return found;
}

/** A type that holds both values without loss. */
function joined(one: Kind, other: Kind): Kind {
  if (one.is === 'nothing') return other;
  if (other.is === 'nothing') return one;
  if (one.is === 'record' && other.is === 'record') {
    const members = new Map(one.members);
    for (const [name, kind] of other.members)
      members.set(name, joined(members.get(name) ?? { is: 'nothing' }, kind));
    return { is: 'record', members };
  }
  if (one.is === 'array' && other.is === 'array')
    return { is: 'array', items: joined(one.items, other.items) };
  if (one.is === other.is) return one;
  const kinds = [one.is, other.is];
  const areNumbers = kinds.every((is) => is === 'long' || is === 'double');
  if (areNumbers) return { is: 'double' };
  return kinds.every((is) => is === 'long' || is === 'double' || is === 'string')
    ? { is: 'string' }
    : { is: 'mixed' };
}

function pascalCase(name: string): string {
  const words = name.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  const text = words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
  return /^[A-Za-z]/.test(text) ? text : `R${text}`;
}

function unique(wanted: string, taken: Set<string>): string {
  let name = wanted;
  for (let n = 2; taken.has(name); n++) name = `${wanted}${n}`;
  taken.add(name);
  return name;
}
