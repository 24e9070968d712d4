import type { Feed } from '../../../feeds/feed';
import type { PageRequest } from '../../../source/source';
import type { Paging } from '../../../types';
import type { Announced } from './announced';
import { sizesWithRest } from './named-next';
import { type FetchedPage, haveSameKeys, type Numbered } from './page-facts';
import { pageOffset } from './paging';
import { unlessRefused } from './refusals';

/** What reads the pages. */
export interface NumberedReader {
  readonly announced: Announced;
  paging(): Paging;
  /** Whether a request from a second on asks for everything. */
  isWhole(from: number): boolean;
  fetchNumbered(
    from: number,
    pageOffset: number,
    other?: Partial<Pick<PageRequest, 'pageSize' | 'mayBeMissing'>>,
  ): Promise<FetchedPage | null>;
}

/** The last page that has rows, and the rows up to its end. */
export interface PagesRead extends Pick<Numbered, 'n' | 'length'> {
  readonly from: number;
  readonly shown: number;
}

/**
 * An answer without a list (204, `{}`) has ended the pages by number, and not all known records have come. Many APIs end like this; others
 * are in trouble. A first page that is shorter than was asked for may have been cut.
 */
export async function testNoList(feed: Feed, reader: NumberedReader, read: PagesRead): Promise<void> {
  const { announced } = reader;
  const { shown } = read;
  if (!announced.lacks(shown) || announced.hidden !== null || announced.trueEnd === shown) return;
  const isEnd = await showsLastRows(feed, reader, read);
  if (isEnd ?? (read.n === 0 && read.length < feed.pageSize)) announced.trueEnd = shown;
  else announced.hidden ??= { by: 'no list' };
}

/**
 * Whether a page that begins at another row, and would hold the row behind the last one, has the last rows only.
 * @returns null: no such page can be asked for
 */
export async function showsLastRows(
  { parameters }: Feed,
  reader: NumberedReader,
  { from, shown, length }: Omit<PagesRead, 'n'>,
): Promise<boolean | null> {
  const paging = reader.paging();
  const isByRecord = paging.unit === 'record';
  // A longer page may be as short as the server has cut it.
  const sizes = sizesWithRest(shown, length).filter((size) => size < length && parameters.pageSize !== null);
  for (const pageSize of isByRecord ? [paging.pageSize] : sizes) {
    const ask = async (n: number) => {
      const page = reader.fetchNumbered(from, pageOffset(paging, n, shown - 1), { pageSize });
      return (await unlessRefused(page))?.facts ?? null;
    };
    const n = isByRecord ? 1 : Math.floor(shown / pageSize);
    const rest = isByRecord ? 1 : shown % pageSize;
    const last = await ask(n);
    if (last?.length === rest) return true;
    if (last !== null && isByRecord) return false;
    const first = last === null ? null : await ask(0);
    // Some APIs take another size than they were asked for.
    if (first?.length !== pageSize) continue;
    // Numbers that count from 1 show the first page twice. Behind it, its rows have been counted twice as well.
    const second = shown === length ? await ask(1) : null;
    return second !== null && haveSameKeys(first, second) && (await ask(n + 1))?.length === rest;
  }
  return null;
}
