import { valueAtPath } from '../json/dotted-path';
import { ExactNumber } from '../json/exact-number';
import { type FeedDefinition, usualShape } from './definition';
import { readSeconds, timeReader } from './time-format';

/**
 * The two members that every record needs. The scan decides by them where to continue, and the decoder rejects rows that lack one.
 */
export interface RowKeys {
  /** The record's id as text; null if it has no usable id. */
  id(row: unknown): string | null;
  /**
   * Unix seconds, with a fraction if the feed's time format has one; null if the row has no usable time stamp. 0 for all rows of a feed
   * without `updatedField`: they are ties.
   */
  updated(row: unknown): number | null;
}

export type KeyFields = Pick<FeedDefinition, 'idField' | 'updatedField' | 'updatedFormat'>;

export function rowKeys(feed: KeyFields): RowKeys {
  return hasUsualKeys(feed) ? usualKeys : keysBy(feed, memberReader, asId);
}

/**
 * The keys of a row, or of another form of its record.
 * @param readerOf makes the reader of the member at a dotted path
 * @param asId the value of a member as a part of the id; null if it is none
 */
export function keysBy(
  feed: KeyFields,
  readerOf: (path: string) => (row: unknown) => unknown,
  asId: (value: unknown) => string | null,
): RowKeys {
  const [first, ...others] = idPaths(feed).map(readerOf);
  const readTime = timeReader(feed.updatedFormat);
  const readUpdated = feed.updatedField === null ? null : readerOf(feed.updatedField);
  return {
    id:
      others.length === 0
        ? (row) => asId(first!(row))
        : (row) => joinedId([first!, ...others].map((read) => asId(read(row)))),
    updated: readUpdated === null ? () => 0 : (row) => readTime(readUpdated(row)),
  };
}

/** The paths of the members that name a record. */
export function idPaths({ idField }: Pick<FeedDefinition, 'idField'>): readonly string[] {
  return typeof idField === 'string' ? [idField] : idField;
}

/** The paths of the members that every record needs. */
export function keyPaths(feed: Pick<FeedDefinition, 'idField' | 'updatedField'>): readonly string[] {
  return feed.updatedField === null ? idPaths(feed) : [...idPaths(feed), feed.updatedField];
}

/** One id of several: `AAPL|2026-01-31`. A `|` and a backslash within a part have a backslash before them. Null if a part is missing. */
export function joinedId(parts: readonly (string | null)[]): string | null {
  return parts.includes(null) ? null : parts.map((part) => part!.replace(/[\\|]/g, '\\$&')).join('|');
}

/** Reads a member of a row by its name or its dotted path; a member whose name is the whole path goes first. */
export function memberReader(path: string): (row: unknown) => unknown {
  return path.includes('.') ? (row) => valueAtPath(row, path) : (row) => memberOf(row, path);
}

/** Whether the feed has the id and time fields of the built-in feeds. */
export function hasUsualKeys({ idField, updatedField, updatedFormat }: KeyFields): boolean {
  return (
    idField === usualShape.idField &&
    updatedField === usualShape.updatedField &&
    updatedFormat === usualShape.updatedFormat
  );
}

/** Names that are in the program are read several times as fast. Encoded rows have these members too. */
const usualKeys: RowKeys = {
  id: (row) => asId(isObject(row) ? row.id : undefined),
  updated: (row) => readSeconds(isObject(row) ? row.updated : undefined),
};

function asId(id: unknown): string | null {
  // Half a surrogate pair has no UTF-8: several ids would become one.
  if (typeof id === 'string') return id !== '' && id.isWellFormed() ? id : null;
  if (typeof id === 'number') return Number.isSafeInteger(id) ? String(id) : null;
  return id instanceof ExactNumber ? id.toInteger() : null;
}

function memberOf(row: unknown, name: string): unknown {
  // The vendor's name may be that of an inherited property: `constructor`.
  return isObject(row) && Object.hasOwn(row, name) ? row[name] : undefined;
}

function isObject(row: unknown): row is Readonly<Record<string, unknown>> {
  return typeof row === 'object' && row !== null;
}
