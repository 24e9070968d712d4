import type { HighwaterError } from '../../errors';
import type { ScanPage } from '../../types';
import { isCode, REFUSALS } from './pages/refusals';
import type { ScanPosition } from './scan-position';

/**
 * The pages of the whole feed, one after the other, as far as paging reaches. A scan in order asks from later and later seconds on. If the
 * filter goes by another time than `updated`, each of these requests leaves out a row that was updated since, and so do polls. Nothing
 * relies on this climb to be complete, so it just ends when the API refuses a page or shows rows again.
 */
export async function* allPages(position: ScanPosition): AsyncGenerator<ScanPage> {
  const { reader } = position;
  if (reader.kind === 'single') return;
  const seen = new Set<string>();
  for (let n = 0, before = 0; before < reader.reach; n++) {
    const page = await reader.read(0, n, before).catch(refused);
    if (page === null || page === 'page-size-changed') return;
    const { keys, length } = page.facts;
    // Numbers that count from 1 show the first page twice.
    if (length === 0 || (n !== 1 && keys.every((key) => seen.has(key)))) return;
    for (const key of keys) seen.add(key);
    before += length;
    yield position.page(page);
  }
}

/** A page that the API does not give is the end. @throws what says nothing about this page */
function refused(error: unknown): null {
  if (isCode(error, REFUSALS) || (error as HighwaterError).code?.startsWith('SCAN_')) return null;
  throw error;
}
