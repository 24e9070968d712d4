import { type Kind, type Members, namedMembers, type RecordRules, recordRules } from './vendor-record';

export type Image = Readonly<Record<string, unknown>>;
type Json = Readonly<Record<string, unknown>>;

const drifted = Symbol('drifted');

/** The expected image of a vendor's record: the design's mapping, implemented a second time and independently. */
export function expectedImage(feed: string, record: Json): Image {
  const rules = recordRules[feed]!;
  const extra: Record<string, string> = {};
  const named = namedMembers(feed);
  const { [named.id]: id, [named.updated]: updated, ...rest } = record;
  const image = mapMembers(rules.members, rest, '', rules, extra);
  for (const [name, companion] of Object.entries(rules.zeroIsUnknownWithout)) {
    if (image[name] === 0 && image[companion] === null) image[name] = null;
  }
  return {
    ...image,
    [named.id]: typeof id === 'string' ? wellFormed(id) : id,
    // The field stays as the vendor writes it, except that seconds are whole and digits are a number.
    [named.updated]:
      named.format === 'iso8601'
        ? updated
        : named.format === 'seconds'
          ? seconds(updated as number)
          : Number(updated),
    extra,
  };
}

/** When the record was updated, Unix ms, as far as the vendor tells them. @param record as the vendor or an image has it */
export function updatedMs(feed: string, record: Json): number {
  const { updated, format } = namedMembers(feed);
  const value = record[updated];
  if (format === 'iso8601') return Date.parse(value as string);
  return format === 'seconds' ? seconds(value as number) * 1000 : Number(value);
}

export function updatedSeconds(feed: string, record: Json): number {
  return Math.floor(updatedMs(feed, record) / 1000);
}

/** The record's key. */
export function idOf(feed: string, record: Json): string {
  return String(record[namedMembers(feed).id]);
}

export function seconds(updated: number): number {
  return Math.floor(updated > 1e11 ? updated / 1000 : updated);
}

function mapMembers(
  members: Members,
  from: Json,
  prefix: string,
  rules: RecordRules,
  extra: Record<string, string>,
): Record<string, unknown> {
  const image: Record<string, unknown> = {};
  for (const [name, kind] of Object.entries(members))
    image[avroName(name)] = mapMember(name, kind, from[name], prefix, rules, extra);
  for (const name of Object.keys(from)) {
    if (!(name in members)) extra[prefix + name] = JSON.stringify(from[name]);
  }
  return image;
}

function mapMember(
  name: string,
  kind: Kind | Members,
  raw: unknown,
  prefix: string,
  rules: RecordRules,
  extra: Record<string, string>,
): unknown {
  if (raw === undefined || raw === null) return null;
  if (typeof kind === 'object' && typeof raw === 'object' && !Array.isArray(raw))
    return mapMembers(kind, raw as Json, `${prefix}${name}.`, rules, extra);
  const value = typeof kind === 'object' ? drifted : brought(kind, raw, rules.emptyIsUnknown);
  if (value === drifted) {
    extra[prefix + name] = JSON.stringify(raw);
    return null;
  }
  return value === 0 && rules.zeroIsUnknown.includes(prefix + name) ? null : value;
}

/** The value in the field's type, when nothing is lost on the way. */
function brought(kind: Kind, raw: unknown, emptyIsUnknown: boolean): unknown {
  if (raw === '' && (emptyIsUnknown || (kind !== 'text' && kind !== 'decimal'))) return null;
  switch (kind) {
    case 'text':
    case 'decimal':
      return typeof raw === 'string' ? wellFormed(raw) : typeof raw === 'number' ? String(raw) : drifted;
    case 'integer': {
      const value = typeof raw === 'string' && /^-?\d+(\.0+)?$/.test(raw) ? Number(raw) : raw;
      return Number.isSafeInteger(value) ? value : drifted;
    }
    case 'number': {
      if (typeof raw === 'number') return raw;
      const exact = typeof raw === 'string' ? plainNumber(raw) : null;
      return exact !== null && exact === plainNumber(String(Number(raw))) ? Number(raw) : drifted;
    }
    case 'boolean':
      return raw === 'true' || raw === 'false' ? raw === 'true' : typeof raw === 'boolean' ? raw : drifted;
    case 'texts':
      return Array.isArray(raw) && raw.every((item) => typeof item === 'string')
        ? raw.map(wellFormed)
        : drifted;
  }
}

/** A decimal number in the one form that all its spellings share: `5.00`, `05` and `5` are `5`. Null: not one. */
export function plainNumber(text: string): string | null {
  const match = /^(-?)0*(\d+?)(?:\.(\d*?)0*)?$/.exec(text);
  if (match === null) return null;
  const [, sign, whole = '', fraction = ''] = match;
  const plain = fraction === '' ? whole : `${whole}.${fraction}`;
  return plain === '0' ? '0' : sign + plain;
}

/** Avro's names begin with a letter or an underscore. */
export function avroName(vendorName: string): string {
  return /^\d/.test(vendorName) ? `_${vendorName}` : vendorName;
}

/** Half a surrogate pair becomes the replacement character. */
function wellFormed(text: string): string {
  return text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '\ufffd');
}

/** An image as one text. Equal images have equal texts, for any order of members; nulls are left out. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (inner === null || typeof inner !== 'object' || Array.isArray(inner)) return inner;
    const entries = Object.entries(inner).filter(([, member]) => member !== null && member !== undefined);
    return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
