import { configure, stringify } from 'safe-stable-stringify';
import { ExactNumber, holdsExactNumber } from './exact-number';
import { isTooDeep } from './limits';

/** A vendor's value as JSON text, with the members of objects in a fixed order. */
export function jsonText(value: unknown): string {
  return isTooDeep(value) || holdsExactNumber(value)
    ? writtenText(value, (names) => names.sort())
    : (stringify(value) ?? 'null');
}

/** A vendor's value as JSON text, with the members of objects in the vendor's order. */
export function jsonTextAsSent(value: unknown): string {
  return isTooDeep(value) || holdsExactNumber(value) ? writtenText(value, (names) => names) : plain(value);
}

const plain = (value: unknown): string => JSON.stringify(value) ?? 'null';

/** JSON of a decoded record: a long that is a `bigint` is a number too. JSON.stringify knows no `bigint`, but is much faster. */
export function recordJson(value: unknown): string {
  try {
    return plain(value);
  } catch {
    return asInserted(value) ?? 'null';
  }
}

const asInserted = configure({ deterministic: false });

/** For any depth, and with all digits: it keeps the parts that are left to write in a list and does not call itself. */
function writtenText(value: unknown, inOrder: (names: string[]) => string[]): string {
  let text = '';
  const left: (string | { readonly value: unknown })[] = [{ value }];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next === 'string') text += next;
    else for (const part of partsOf(next.value, inOrder).reverse()) left.push(part);
  }
  return text;
}

function partsOf(
  value: unknown,
  inOrder: (names: string[]) => string[],
): (string | { readonly value: unknown })[] {
  if (Array.isArray(value)) return ['[', ...value.flatMap((item, i) => [comma(i), { value: item }]), ']'];
  if (value instanceof ExactNumber) return [value.toString()];
  if (typeof value !== 'object' || value === null) return [JSON.stringify(value)];
  const members = value as Readonly<Record<string, unknown>>;
  const entries = inOrder(Object.keys(members)).flatMap((name, i) => [
    `${comma(i)}${JSON.stringify(name)}:`,
    { value: members[name] },
  ]);
  return ['{', ...entries, '}'];
}

const comma = (i: number): string => (i === 0 ? '' : ',');
