import type { DecodedRecord } from '../avro/codec/record-decoder';
import { valueAt } from '../avro/path';
import type { Badge, FeedDefinition, TransitionDefinition } from '../feeds/definition';
import { keyPaths } from '../feeds/row-keys';
import type { Op } from '../types';

type Fields = Readonly<Record<string, unknown>>;

/** The members of a definition that say how its records and transitions are shown to people. */
export type ShownFeed = Pick<
  FeedDefinition,
  'name' | 'display' | 'symbolField' | 'idField' | 'updatedField' | 'transitions'
>;

const titleNames = ['name', 'title', 'subject', 'display_name', 'full_name', 'name_full', 'label', 'summary'];

/** The first of these fields that is called like a title; undefined if there is none. */
export function titleAmong(fields: readonly string[]): string | undefined {
  return titleNames.find((name) => fields.includes(name));
}

/** A value of a record, or both images of it. */
export interface ShownField {
  /** Dotted Avro name. */
  readonly field: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** What people want to see first of a record. */
export interface ShownRecord {
  readonly title: string;
  /** Empty if the record has none. */
  readonly symbol: string;
  /** The fields that an update changed; the facts that name any other record. */
  readonly fields: readonly ShownField[];
}

/** The parts of an envelope that are shown, under their names in `schemas/envelope.avsc`. */
export interface ShownEnvelope {
  readonly before: Fields | null;
  readonly after: Fields | null;
  readonly op: Op;
  readonly changed_fields: readonly string[];
}

const MOST_DEFAULT_FACTS = 8;
const LONG_TEXT = 40;

/** A change event, as `tail`, `demo`, `init` and the dashboard show it. */
export function shownChange(
  feed: ShownFeed,
  { key, headers, value }: Pick<DecodedRecord, 'key' | 'headers' | 'value'>,
): ShownRecord {
  const { before, after, op, changed_fields } = value as ShownEnvelope;
  const { title, symbol, facts } = shownImage(feed, after ?? before ?? {}, key);
  const names = op === 'u' ? inTellingOrder(feed, changed_fields, before ?? {}, after ?? {}) : facts;
  const fields = names.map((field) => ({
    field,
    before: changedValue(before, field),
    after: changedValue(after, field),
  }));
  return { title, symbol: symbol || (headers.symbol ?? ''), fields };
}

/** @param key the title of a record that has no other */
export function shownImage(
  feed: ShownFeed,
  record: Fields,
  key: string,
): Omit<ShownRecord, 'fields'> & { readonly facts: readonly string[] } {
  const { display, symbolField } = feed;
  const texts = Object.keys(record).filter((name) => textOf(record[name]) !== '');
  const title = display.title ?? titleAmong(texts);
  const symbol = display.symbol ?? symbolField ?? undefined;
  const isNamed = (name: string) => [title, symbol, ...keyPaths(feed)].includes(name);
  const facts = display.facts ?? texts.filter((name) => !isNamed(name)).slice(0, MOST_DEFAULT_FACTS);
  return {
    title: textAt(record, title) || key,
    symbol: textAt(record, symbol),
    facts: facts.filter((path) => (valueAt(record, path) ?? '') !== ''),
  };
}

/** The value of a changed field. The keys of `extra` are dotted paths themselves. */
function changedValue(record: Fields | null, field: string): unknown {
  if (!field.startsWith('extra.')) return valueAt(record, field);
  const extra = (record?.extra ?? {}) as Fields;
  return extra[field.slice('extra.'.length)] ?? null;
}

/** Changed fields as a person wants to see them: first the fields that the feed names, then the others, long texts last. */
function inTellingOrder(
  { display }: ShownFeed,
  fields: readonly string[],
  before: Fields,
  after: Fields,
): readonly string[] {
  const telling = display.changes ?? display.facts ?? [];
  const isLong = (field: string) =>
    [before, after].some((image) => String(changedValue(image, field) ?? '').length > LONG_TEXT);
  const ranks = new Map(
    fields.map((field) => {
      const at = telling.indexOf(field);
      return [field, at >= 0 ? at : telling.length + (isLong(field) ? 1 : 0)];
    }),
  );
  return [...fields].sort((a, b) => ranks.get(a)! - ranks.get(b)!);
}

type ShownBadge = { readonly [member in keyof Badge]-?: NonNullable<Badge[member]> };

export interface ShownTransition {
  readonly transition: TransitionDefinition;
  readonly badge: ShownBadge;
  readonly title: string;
  /** Empty if the event has none. */
  readonly symbol: string;
  /** The values that the transition watches, as far as its event has them. */
  readonly moves: readonly { readonly path: string; readonly before: unknown; readonly after: unknown }[];
  /** Nothing is known from before. */
  readonly isFirst: boolean;
}

/**
 * How an event of a declared transition is shown; null for a record of any other type.
 * @param key the title of an event that has no other
 */
export function shownTransition(
  feed: ShownFeed,
  { type, value, key }: { readonly type: string | null; readonly value: unknown; readonly key: string },
): ShownTransition | null {
  const transition = feed.transitions.find((one) => one.type === type?.split('.').at(-1));
  if (transition === undefined) return null;
  const event = value as Fields;
  const watched = transition.kind === 'field' ? [transition.field] : transition.differs;
  const from = (source: string): unknown => {
    const field = Object.keys(transition.fields).find((name) => transition.fields[name] === source);
    return field === undefined ? null : (event[field] ?? null);
  };
  const { title = titleAmong(Object.keys(event)), symbol = feed.symbolField } = feed.display;
  return {
    transition,
    badge: badgeOf(transition, event, watched[0] ?? ''),
    title: textOf(from(`after.${title}`)) || key,
    symbol: textOf(from(`after.${symbol}`)),
    moves: watched.map((path) => ({ path, before: from(`before.${path}`), after: from(`after.${path}`) })),
    isFirst: Object.entries(transition.fields).every(
      ([field, source]) => source.startsWith('after.') || (event[field] ?? null) === null,
    ),
  };
}

/** The badge of the first value that has one. A vendor may name a value `constructor`. */
function badgeOf({ display = {} }: TransitionDefinition, event: Fields, watched: string): ShownBadge {
  const word = watched.slice(watched.lastIndexOf('.') + 1).toUpperCase();
  const usual = { mark: '●', word, tone: 'info', ...display.badge } as ShownBadge;
  for (const [field, badges] of Object.entries(display.badges ?? {})) {
    const value = String(event[field] ?? '');
    if (Object.hasOwn(badges, value))
      return { ...usual, word: value.toUpperCase(), ...badges[value] } as ShownBadge;
  }
  return usual;
}

function textAt(record: Fields, path: string | undefined): string {
  return path === undefined ? '' : textOf(valueAt(record, path));
}

/** Empty for a value that is not a text, a number or a truth value. */
function textOf(value: unknown): string {
  return ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : '';
}
