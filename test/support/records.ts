import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { FeedStore } from '../../src/simulator/store/store';

type Row = Record<string, unknown>;

/** The vendor's own published records. */
export function vendorSamples(feed: 'insights' | 'analysts' | 'ipos'): Row[] {
  const file = path.join(__dirname, '..', 'fixtures', 'vendor-samples', `${feed}.json`);
  return Object.values(JSON.parse(readFileSync(file, 'utf8')) as Record<string, Row[]>)[0]!;
}

export function ipo(overrides: Row = {}): Row {
  return { ...vendorSamples('ipos')[0], ...overrides };
}

export function analyst(overrides: Row = {}): Row {
  return { ...vendorSamples('analysts')[0], ...overrides };
}

export function insight(overrides: Row = {}): Row {
  return { ...vendorSamples('insights')[0], ...overrides };
}

/**
 * Writes a record of a simulated API again, dated by its clock. With another `id` it is a new record.
 * @returns its key
 */
export function writeAgain(store: FeedStore, key: string, members: Row = {}): string {
  const { updated: _, ...record } = store.get(key)!;
  return store.upsert({ ...record, ...members } as never);
}
