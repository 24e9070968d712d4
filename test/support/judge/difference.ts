import { avroName, canonical, type Image, plainNumber } from './expected-image';
import { type Kind, type Members, recordRules } from './vendor-record';

type Fields = Readonly<Record<string, unknown>>;

/**
 * The fields in which two images differ for readers: not `updated`, not the form of a number, and not the form of "unknown". Dotted
 * Avro names, sorted.
 */
export function noticeable(feed: string, before: Image, after: Image): string[] {
  const differing: string[] = [];
  compare(recordRules[feed]!.members, before, after, '', differing);
  compareExtra(fieldsOf(before.extra), fieldsOf(after.extra), differing);
  return differing.sort();
}

function compare(members: Members, before: Fields, after: Fields, prefix: string, differing: string[]): void {
  for (const [vendorName, kind] of Object.entries(members)) {
    const name = avroName(vendorName);
    const [old, now] = [before[name], after[name]];
    if (typeof kind === 'object') compare(kind, fieldsOf(old), fieldsOf(now), `${prefix}${name}.`, differing);
    else if (meaning(kind, old) !== meaning(kind, now)) differing.push(prefix + name);
  }
}

function compareExtra(before: Fields, after: Fields, differing: string[]): void {
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (jsonMeaning(before[name]) !== jsonMeaning(after[name])) differing.push(`extra.${name}`);
  }
}

function meaning(kind: Kind, value: unknown): string {
  if (value === null || value === undefined || value === '' || value === 0) return 'unknown';
  if (Array.isArray(value) && value.length === 0) return 'unknown';
  if (kind === 'decimal') return plainNumber(String(value)) ?? `text ${String(value)}`;
  return JSON.stringify(value);
}

function jsonMeaning(text: unknown): string {
  return typeof text === 'string' ? canonical(JSON.parse(text)) : 'null';
}

function fieldsOf(value: unknown): Fields {
  return value !== null && typeof value === 'object' ? (value as Fields) : {};
}
