import type { Live } from '../secrets/rotation';

/** One entry of `deliveries` in `highwater.yaml`: where which events go. */
export interface Delivery {
  readonly name: string;
  /** Without prefix. */
  readonly topics: readonly string[];
  /** Topics that belong to no feed of the settings. Another instance may write to them. */
  readonly foreignTopics?: readonly string[];
  /** By dotted path into the event's value. All must hold. */
  readonly where: Readonly<Record<string, Condition>>;
  /** Where a new delivery begins. */
  readonly from: 'beginning' | 'end';
  /** How long a receiver that does not answer is waited for, before its events become dead letters. */
  readonly retryForMs: number;
  readonly to: Destination;
}

/** The values that a field may have, as text; null: it is empty. */
export interface Condition {
  readonly values: readonly (string | null)[];
  /** It must have none of them. */
  readonly not: boolean;
}

/** An address in the open, or the variable or file that holds it. */
export type Place = string | { readonly env: string } | { readonly file: string };

export interface Destination {
  readonly kind: 'webhook' | 'slack';
  readonly url: Place;
  /** The variable or file with the secrets that sign; null: nothing is signed. */
  readonly secret: Exclude<Place, string> | null;
}

/** A destination with what its variables and files hold. */
export interface Target {
  readonly kind: Destination['kind'];
  readonly url: Live<string>;
  /** The address as people may see it. */
  readonly shown: string;
  /** Each of them signs, so that a receiver may change from one to the next. None: nothing is signed. */
  readonly secrets: Live<readonly string[]>;
}

/** A note for people on topics that belong to no feed; null: there are none. */
export function foreignTopicsNote({ foreignTopics: [...topics] = [] }: Delivery): string | null {
  if (topics.length === 0) return null;
  const [what, them] = topics.length === 1 ? ['topic', 'it'] : ['topics', 'them'];
  return `no feed of these settings writes to the ${what} ${topics.join(', ')}: if no other instance writes to ${them}, nothing comes`;
}

/** Name of the consumer group of a delivery, without prefix. */
export function groupOf({ name }: Pick<Delivery, 'name'>): string {
  return `delivery-${name}`;
}

/** Whether an event is wanted. A list holds a value if one of its items is that value. */
export function isWanted({ where }: Pick<Delivery, 'where'>, value: unknown): boolean {
  return Object.entries(where).every(([path, { values, not }]) => {
    const found = fieldAt(value, path);
    const items: readonly unknown[] = !Array.isArray(found) ? [found] : found.length > 0 ? found : [null];
    return not !== items.some((item) => values.some((wanted) => isSame(item, wanted)));
  });
}

/** The members of `extra` may have dots in their names. */
function fieldAt(value: unknown, path: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  const members = value as Readonly<Record<string, unknown>>;
  if (Object.hasOwn(members, path)) return members[path];
  for (let dot = path.indexOf('.'); dot > 0; dot = path.indexOf('.', dot + 1)) {
    const name = path.slice(0, dot);
    if (Object.hasOwn(members, name)) return fieldAt(members[name], path.slice(dot + 1));
  }
  return undefined;
}

const decimal = /^[-+]?\d+(\.\d+)?$/;

/**
 * @param wanted as it is written in the file: `5` and `5.0` are one number, also if the vendor writes it as text. Without a point texts are
 * compared as they are: `0012` and `12` may be two ids
 */
function isSame(item: unknown, wanted: string | null): boolean {
  const found = item ?? null;
  if (wanted === null || found === null) return found === wanted;
  if (typeof found === 'number') return wanted.trim() !== '' && Number(wanted) === found;
  const text = String(found);
  if (text === wanted) return true;
  return (
    `${text}${wanted}`.includes('.') &&
    decimal.test(text) &&
    decimal.test(wanted) &&
    Number(text) === Number(wanted)
  );
}
