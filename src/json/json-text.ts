import { stringify } from 'safe-stable-stringify';
import { isTooDeep } from './limits';

/** What the vendor sent, as JSON text: the same for the same content, in whatever order the members of objects came. */
export function jsonText(value: unknown): string {
  return isTooDeep(value) ? deepText(value) : (stringify(value) ?? 'null');
}

/** As `jsonText`, of parsed JSON of any depth: what is left to write stands in a list, and no call lies within another. */
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
