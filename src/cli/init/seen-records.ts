import { isDeepStrictEqual } from 'node:util';
import { valueAtPath } from '../../json/dotted-path';
import type { FeedKeys } from './infer-schema';
import { type JsonObject, keyOf } from './row-members';

/** The rows of all answers, each record as it was seen last. */
export class SeenRecords {
  private readonly byKey = new Map<string | null, JsonObject>();
  /** Members that moved between two answers while the time of the update did not. */
  readonly restless = new Set<string>();

  constructor(private readonly keys: FeedKeys) {}

  rows(): readonly JsonObject[] {
    return [...this.byKey.values()];
  }

  /** @param rows of one answer: a record does not move within it */
  add(rows: readonly JsonObject[]): void {
    const { idField, updatedField } = this.keys;
    for (const row of rows) {
      const before = this.byKey.get(keyOf(row, idField)) ?? {};
      if (updatedField === null || valueAtPath(before, updatedField) !== valueAtPath(row, updatedField))
        continue;
      for (const name in row) if (!isDeepStrictEqual(before[name], row[name])) this.restless.add(name);
    }
    for (const row of rows) this.byKey.set(keyOf(row, idField), row);
  }
}
