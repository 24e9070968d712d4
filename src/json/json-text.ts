import { stringify } from 'safe-stable-stringify';
import { isTooDeep } from './limits';

/** A vendor's value as JSON text, with the members of objects in a fixed order. */
export function jsonText(value: unknown): string {
  return isTooDeep(value) ? deepText(value) : (stringify(value) ?? 'null');
}

/** Like `jsonText`, for any depth: it keeps the parts that are left to write in a list and does not call itself. */
function deepText(value: unknown): string {
  let text = '';
  const left: (string | { readonly value: unknown })[] = [{ value }];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next === 'string') text += next;
    else for (const part of partsOf(next.value).reverse()) left.push(part);
  }
  return text;
}

function partsOf(value: unknown): (string | { readonly value: unknown })[] {
  if (Array.isArray(value)) return ['[', ...value.flatMap((item, i) => [comma(i), { value: item }]), ']'];
  if (typeof value !== 'object' || value === null) return [JSON.stringify(value)];
  const members = value as Readonly<Record<string, unknown>>;
  const names = Object.keys(members).sort();
  const entries = names.flatMap((name, i) => [
    `${comma(i)}${JSON.stringify(name)}:`,
    { value: members[name] },
  ]);
  return ['{', ...entries, '}'];
}

const comma = (i: number): string => (i === 0 ? '' : ',');
