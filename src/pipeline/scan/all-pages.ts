import type { HighwaterError } from '../../errors';
import type { ScanPage } from '../../types';
import { isCode, REFUSALS } from './pages/refusals';
import type { ScanPosition } from './scan-position';

/**
 * The pages of the whole feed, one after the other, as far as paging reaches; range by range, if the API answers only a range of time. A
 * scan in order asks from later and later seconds on. If the filter goes by another time than `updated`, each of these requests leaves
 * out a row that was updated since, and so do polls. Nothing relies on this climb to be complete, so it just ends when the API refuses a
 * page or shows rows again.
 */
export async function* allPages(position: ScanPosition): AsyncGenerator<ScanPage> {
  const { reader } = position;
  if (reader.kind === 'single') return;
  for (let from = 0; ; from = reader.nextWindow(from)) {
    const knownSecond = yield* pagesFrom(position, from);
    if (knownSecond === null || reader.windowEnd(from) >= knownSecond) return;
  }
}

/** @returns the time of the last answer, Unix seconds; null if the API refuses a page */
async function* pagesFrom(position: ScanPosition, from: number): AsyncGenerator<ScanPage, number | null> {
  const { reader } = position;
  const seen = new Set<string>();
  let knownSecond: number | null = null;
  for (let n = 0, before = 0; before < reader.reach; n++) {
    const page = await reader.read(from, n, before).catch(refused);
    if (page === null || page === 'page-size-changed') return null;
    knownSecond = page.knownSecond;
    const { keys, length } = page.facts;
    // Numbers that count from 1 show the first page twice.
    if (length === 0 || (n !== 1 && keys.every((key) => seen.has(key)))) break;
    for (const key of keys) seen.add(key);
    before += length;
    yield position.page(page);
  }
  return knownSecond;
}

/** A page that the API does not give is the end. @throws what says nothing about this page */
function refused(error: unknown): null {
  if (isCode(error, REFUSALS) || (error as HighwaterError).code?.startsWith('SCAN_')) return null;
  throw error;
}
