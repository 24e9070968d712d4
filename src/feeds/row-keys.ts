import { ExactNumber } from '../json/exact-number';
import { type FeedDefinition, usualShape } from './definition';
import { readSeconds, timeReader } from './time-format';

/**
 * The two members that every record needs. The scan decides by them where to continue, and the decoder rejects rows that lack one.
 */
export interface RowKeys {
  /** The record's id as text; null if it has no usable id. */
  id(row: unknown): string | null;
  /** Unix seconds, with a fraction if the feed's time format has one; null if the row has no usable time stamp. */
  updated(row: unknown): number | null;
}

export type KeyFields = Pick<FeedDefinition, 'idField' | 'updatedField' | 'updatedFormat'>;

export function rowKeys(feed: KeyFields): RowKeys {
  if (hasUsualKeys(feed)) return usualKeys;
  const { idField, updatedField } = feed;
  const readTime = timeReader(feed.updatedFormat);
  return {
    id: (row) => asId(memberOf(row, idField)),
    updated: (row) => readTime(memberOf(row, updatedField)),
  };
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
  if (typeof id === 'string') return id === '' ? null : id.toWellFormed();
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
