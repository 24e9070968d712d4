import type { Behaviour } from '../behaviour';
import { applyDrift } from '../drift';
import { endpoints, type FeedName, type JsonRecord } from '../endpoints';
import type { Random } from '../random';
import { createSlabs } from './record-bytes';
import type { Version } from './view';

export interface WriteOptions {
  /** The record's identity when the record itself has no usable `id`. */
  readonly key?: string;
  /** Unix seconds by which the server orders it; else the record's own `updated`, else the server's now. */
  readonly updated?: number;
}

export interface VersionDeps {
  readonly feed: FeedName;
  readonly seed: number;
  readonly random: Random;
  /** Milliseconds, without skew. */
  readonly clock: () => number;
  readonly behaviour: () => Behaviour;
}

/**
 * Makes versions of one feed's records: numbered, drifted, and rendered once.
 * @param insertedOf number of the write that first brought the record with a key; undefined: there was none
 */
export function createVersionWriter(deps: VersionDeps, insertedOf: (key: string) => number | undefined) {
  const { feed, clock } = deps;
  const write = createSlabs();
  let order = 0;
  return {
    create(record: JsonRecord, given: WriteOptions, visibleFromMs: number): Version {
      const { drift, clockSkew } = deps.behaviour();
      const key = given.key ?? (hasText(record.id) ? record.id : `#${order}`);
      const updated = given.updated ?? ownSeconds(record) ?? Math.floor(clock() / 1000 + clockSkew);
      const shown = given.updated ?? ('updated' in record ? record.updated : updated);
      const image = applyDrift(
        feed,
        key,
        { ...copied(record), updated: shown },
        drift,
        deps.seed,
        deps.random,
      );
      const symbol = endpoints[feed].symbol(record);
      return {
        key,
        updated,
        inserted: insertedOf(key) ?? order,
        order: order++,
        atMs: clock(),
        visibleFromMs,
        bytes: write(JSON.stringify(image)),
        date: hasText(record.date) ? record.date : '',
        symbol: hasText(symbol) ? symbol : '',
      };
    },
    /** The version that says that the record is gone. */
    remove(version: Version): Version {
      const now = clock();
      return { ...version, order: order++, atMs: now, visibleFromMs: now, bytes: null };
    },
  };
}

/** The record as it is shown. */
export function parseVersion(version: Version): JsonRecord {
  const { slab, start, end } = version.bytes!;
  return JSON.parse(slab.toString('utf8', start, end)) as JsonRecord;
}

/** The record as the server knows it: with `id` and `updated` in seconds, even if it does not show them. */
export function knownRecord(version: Version): JsonRecord {
  const known: JsonRecord = version.key.startsWith('#') ? {} : { id: version.key };
  return { ...parseVersion(version), ...known, updated: version.updated };
}

function ownSeconds({ updated }: JsonRecord): number | undefined {
  if (typeof updated !== 'number') return undefined;
  return updated > 1e11 ? Math.floor(updated / 1000) : updated;
}

function hasText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** The record and the objects in it that drift changes. structuredClone would take ten times as long. */
function copied(record: JsonRecord): JsonRecord {
  const copy = { ...record };
  for (const name of ['security', 'ratings_accuracy']) {
    const nested = copy[name];
    if (nested !== null && typeof nested === 'object') copy[name] = { ...nested };
  }
  return copy;
}
