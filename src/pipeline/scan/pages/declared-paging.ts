import { HighwaterError } from '../../../errors';
import type { Feed } from '../../../feeds/feed';
import type { FetchedPage, PageFacts } from './page-facts';
import { firstNumber, inferPaging } from './paging';
import { noPage } from './refusals';

interface Reader {
  fetchNumbered(from: number, pageOffset: number): Promise<FetchedPage | null>;
}

/**
 * The settings of a feed may say what its page numbers count, and which is the first. If they are wrong, some rows are on no page that is
 * asked for, and nothing else shows it.
 * @throws HighwaterError SCAN_PAGING_IGNORED, if two tries agree
 */
export async function testDeclared(feed: Feed, reader: Reader): Promise<void> {
  const ask = async (number: number) => (await reader.fetchNumbered(0, number).catch(noPage))?.facts ?? null;
  const isWrong = (test: () => Promise<boolean>) => test().then((first) => first && test());
  const fail = (what: string, remedy: string): never => {
    throw new HighwaterError('SCAN_PAGING_IGNORED', `Feed ${feed.name}: ${what}`, { remedy });
  };
  const { style } = feed.paging;
  const begin = firstNumber(feed) ?? 0;
  if (begin > 0 && (await isWrong(async () => isBefore(await ask(begin - 1), await ask(begin), style))))
    fail(
      `number ${begin - 1} has rows that number ${begin} has not, so the rows before paging.first (${begin}) are never read.`,
      `Set \`paging.first\` of the feed to ${begin - 1}, or leave it out.`,
    );
  const countsPages = async () => {
    const [zero, one, two] = [await ask(begin), await ask(begin + 1), await ask(begin + 2)];
    return zero !== null && one !== null && two !== null && inferPaging(zero, one, two)?.unit === 'page';
  };
  if (style === 'offset' && (await isWrong(countsPages)))
    fail(
      `the parameter ${feed.parameters.page} counts pages, and not records, as \`style: offset\` says, so most rows are never read.`,
      'Set `paging` of the feed to `{ style: page }`.',
    );
}

/** Whether a number has rows in front of those of the number behind it. Some APIs answer 0 as 1, or with all rows. */
function isBefore(page: PageFacts | null, next: PageFacts | null, style: Feed['paging']['style']): boolean {
  if (page === null || page.length === 0) return false;
  if (next === null || next.length === 0) return true;
  const keys = new Set(next.keys);
  if (style === 'offset') return page.keys[1] === next.keys[0] && !keys.has(page.keys[0]!);
  return 2 * page.keys.filter((key) => keys.has(key)).length < Math.min(page.length, next.length);
}
