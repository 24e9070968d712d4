import { HighwaterError } from '../../../errors';
import type { Feed } from '../../../feeds/feed';
import { type NumberedReader, type PagesRead, showsLastRows } from './no-list';
import { type FetchedPage, type Numbered, pageBehind } from './page-facts';
import { pagesBehind } from './paging';
import { isCode, orRefusal, REFUSALS } from './refusals';

/** A page by number that was refused. */
interface RefusedPage {
  readonly n: number;
  readonly offset: number;
  readonly error: unknown;
  /** The page before it is as long as pages get. */
  readonly isBehindFull: boolean;
  /** Everything was asked for. */
  readonly isWhole: boolean;
  /** A poll's answer has said that the page before it is the last. */
  readonly isSaid: boolean;
}

/**
 * Some APIs refuse a number behind the last page. It is the end if the page before it comes once more, but this one is refused again, and as
 * pages behind it are: a page is also refused for one row that the API cannot show. Behind a full page it may be a limit of paging, unless a
 * page with other borders shows the end.
 * @param read the pages before it @returns the end, or the page @throws the refusal
 */
export async function refusedEnd(
  feed: Feed,
  reader: NumberedReader,
  read: PagesRead & Pick<Numbered, 'offset'>,
  { n, offset, error, isBehindFull, isWhole, isSaid }: RefusedPage,
): Promise<FetchedPage | null> {
  const { from, shown } = read;
  const fetch = (other: number) => reader.fetchNumbered(from, other);
  const mayBeLimit = !isSaid && isBehindFull && !isCode(error, ['SOURCE_NOT_FOUND']);
  if (mayBeLimit && !(await showsEnd(feed, reader, read, isWhole))) throw error;
  const before = await fetch(read.offset);
  if (before === null || before.facts.length < Math.min(1, read.length)) throw error;
  const again = await fetch(offset).catch((thrown) => orRefusal(thrown, REFUSALS));
  if (!(again instanceof HighwaterError)) return again;
  const paging = reader.paging();
  // In order, the next walk begins at the last row that was read.
  if (isSaid || reader.announced.isCounted(shown, from) || (paging.ordered && !isWhole))
    return pageBehind(before);
  const [next, far] = pagesBehind(paging, n, shown);
  // Far from the end, an API may refuse a number for its size, in other words.
  const isEnd = (await isRefused(next, again)) && (await isRefused(far));
  if (!isEnd) throw again;
  return pageBehind(before);

  async function isRefused(other: number, like?: HighwaterError): Promise<boolean> {
    const refusal = await fetch(other).catch((thrown) => orRefusal(thrown, REFUSALS));
    return refusal instanceof HighwaterError && (like === undefined || wordsOf(refusal) === wordsOf(like));
  }
}

/** What a refusal says, without numbers, times and ids. */
function wordsOf({ message }: HighwaterError): string {
  const status = /answered (\d+)/.exec(message)?.[1];
  const words = message.split(/[^\p{L}\p{N}]+/u).filter((word) => !/\d/.test(word));
  return [status, ...words].join(' ');
}

/**
 * Whether a page with other borders shows that the pages have shown all rows. An API with a limit may cut that page there, too, so nothing is
 * deleted while rows of the whole feed are missing.
 */
async function showsEnd(
  feed: Feed,
  reader: NumberedReader,
  read: PagesRead,
  isWhole: boolean,
): Promise<boolean> {
  const { announced } = reader;
  if (isWhole && announced.lacks(read.shown)) announced.hidden ??= { by: 'refusal', rows: read.shown };
  if (announced.trueEnd !== read.shown && !(await showsLastRows(feed, reader, read))) return false;
  announced.trueEnd = read.shown;
  if (isWhole) announced.noteRefusedEnd(read.shown, read.from);
  return true;
}
