import { HighwaterError } from '../../errors';
import type { Paging, ScanPage } from '../../types';
import { isCode, REFUSALS, unlessRefused } from './pages/refusals';
import { tryPageSize } from './pages/window';
import type { ScanPosition } from './scan-position';

/**
 * The pages of the whole feed, one after the other, as far as paging reaches; range by range, if the API answers only a range of time. A
 * scan in order asks from later and later seconds on. If the filter goes by another time than `updated`, each of these requests leaves
 * out a row that was updated since, and so do polls. Nothing relies on this climb to be complete, so it just ends when the API refuses a
 * page or shows rows again.
 *
 * @param otherBorders pages begin and end at other rows than usual, if the API lets them: ties at a border may hide a row
 */
export async function* allPages(position: ScanPosition, otherBorders: boolean): AsyncGenerator<ScanPage> {
  const { reader } = position;
  if (reader.kind === 'single') return;
  const movesBorders = otherBorders && reader.bordersMove === 'by-size';
  // Polls of a few rows do not tell how long pages get.
  if (movesBorders) await unlessRefused(reader.readFirst(0));
  const { pageSize, longestPage } = reader.paging();
  const usual = reader.learned();
  const length = longestPage || pageSize;
  const isShorter = movesBorders && length > 1;
  if (isShorter) await tryPageSize(reader, length - 1, 0);
  try {
    for await (const page of allRanges(position, otherBorders)) yield isShorter ? asUsual(page, usual) : page;
  } finally {
    if (isShorter) reader.setPaging({ ...reader.paging(), pageSize, longestPage });
  }
}

/** Polls between these pages, and after an error, ask for pages as before. */
function asUsual(page: ScanPage, { pageSize, longestPage }: Paging): ScanPage {
  const { progress } = page;
  return { ...page, progress: { ...progress, paging: { ...progress.paging, pageSize, longestPage } } };
}

async function* allRanges(position: ScanPosition, otherBorders: boolean): AsyncGenerator<ScanPage> {
  const { reader } = position;
  for (let from = 0; ; from = reader.nextWindow(from)) {
    const knownSecond = yield* pagesFrom(position, from, otherBorders);
    if (knownSecond === null || reader.windowEnd(from) >= knownSecond) return;
  }
}

/** @returns the time of the last answer, Unix seconds; null if the API refuses a page */
async function* pagesFrom(
  position: ScanPosition,
  from: number,
  otherBorders: boolean,
): AsyncGenerator<ScanPage, number | null> {
  const { reader } = position;
  const seen = new Set<string>();
  let knownSecond: number | null = null;
  let began = Number.POSITIVE_INFINITY;
  let longest = 0;
  /** Pages in a row that brought nothing new, or a few rows that were written since the first page. */
  let known = 0;
  for (let n = 0, before = 0; before < reader.reach; n++) {
    const page = await reader.read(from, n, before).catch(refused);
    if (page === null || page === 'page-size-changed') return null;
    knownSecond = page.knownSecond;
    began = Math.min(began, page.serverSecond);
    const { keys, length, least } = page.facts;
    longest = Math.max(longest, length);
    const isSince = length < longest && (least ?? 0) >= began;
    // One such page is not the end: numbers that count from 1 show the first page twice, and ties come again where two pages meet.
    known = isSince || keys.every((key) => seen.has(key)) ? known + 1 : 0;
    if (length === 0 || known === 2) break;
    for (const key of keys) seen.add(key);
    before +=
      n === 0 && otherBorders && reader.bordersMove === 'by-position' ? Math.max(1, length - 1) : length;
    yield position.page(page);
  }
  return knownSecond;
}

/** A page that the API does not give is the end. @throws what says nothing about this page */
function refused(error: unknown): null {
  const isOfScan = error instanceof HighwaterError && error.code.startsWith('SCAN_');
  if (isOfScan || isCode(error, REFUSALS)) return null;
  throw error;
}
