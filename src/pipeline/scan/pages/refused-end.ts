import { HighwaterError } from '../../../errors';
import type { Feed } from '../../../feeds/feed';
import { type NumberedReader, type PagesRead, showsLastRows } from './no-list';
import { type FetchedPage, type Numbered, pageBehind } from './page-facts';
import { pagesBehind } from './paging';
import { isCode, noPage, orRefusal, REFUSALS } from './refusals';

/** A page by number that was refused. */
interface RefusedPage {
  readonly n: number;
  readonly offset: number;
  readonly error: unknown;
  /** This scan has proved that the pages end here. */
  readonly isProved: boolean;
  /** The page before it is as long as pages get. */
  readonly isBehindFull: boolean;
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
  { n, offset, error, isProved, isBehindFull, isSaid }: RefusedPage,
): Promise<FetchedPage | null> {
  const { from, shown } = read;
  const mayBeLimit = !isProved && !isSaid && isBehindFull && !isCode(error, ['SOURCE_NOT_FOUND']);
  if (mayBeLimit && !(await showsEnd(feed, reader, read))) throw error;
  const before = await reader.fetchNumbered(from, read.offset);
  if (before === null || before.facts.length < Math.min(1, read.length)) throw error;
  if (isProved) return pageBehind(before);
  // A 404 has been tried several times by now.
  const ask = (other: number) => reader.fetchNumbered(from, other, { mayBeMissing: true });
  const again = await ask(offset).catch((thrown) => orRefusal(thrown, REFUSALS));
  if (!(again instanceof HighwaterError)) return again;
  if (isSaid || reader.announced.isCounted(shown, from)) return pageBehind(before);
  const [next, far] = pagesBehind(reader.paging(), n, shown);
  const refusal = await ask(next).catch((thrown) => orRefusal(thrown, REFUSALS));
  const isAlike = refusal instanceof HighwaterError && wordsOf(refusal) === wordsOf(again);
  // Far from the end, an API may refuse a number for its size, in any way.
  if (!isAlike || (await ask(far).catch(noPage)) !== null) throw again;
  return pageBehind(before);
}

/** How a refusal begins, without numbers and ids. */
function wordsOf({ message }: HighwaterError): string {
  const [, status, said = ''] = /answered (\d+)(.*)/s.exec(message) ?? [null, null, message];
  const words = said.replaceAll(/\b[\da-f]{4,}(-[\da-f]{4,})+\b/gi, '').split(/[^\p{L}\p{N}]+/u);
  const plain = words.filter((word) => word !== '' && !/\d/.test(word));
  return [status, ...plain.slice(0, MOST_WORDS)].join(' ');
}

/** Errors quote only the beginning of a long answer. */
const MOST_WORDS = 8;

/**
 * Whether a page with other borders shows that the pages have shown all rows. An API with a limit may cut that page there, too, so nothing is
 * deleted while rows of the whole feed are missing.
 */
async function showsEnd(feed: Feed, reader: NumberedReader, read: PagesRead): Promise<boolean> {
  const { announced } = reader;
  const isWhole = reader.isWhole(read.from);
  if (isWhole && announced.lacks(read.shown)) announced.hidden ??= { by: 'refusal', rows: read.shown };
  if (announced.trueEnd !== read.shown && !(await showsLastRows(feed, reader, read))) return false;
  announced.trueEnd = read.shown;
  if (isWhole) announced.noteRefusedEnd(read.shown, read.from);
  return true;
}
