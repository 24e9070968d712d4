import { readFileSync } from 'node:fs';
import path from 'node:path';

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
