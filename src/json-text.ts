import { stringify } from 'safe-stable-stringify';

/** What the vendor sent, as JSON text: the same for the same content, in whatever order the members of objects came. */
export function jsonText(value: unknown): string {
  return stringify(value) ?? 'null';
}
