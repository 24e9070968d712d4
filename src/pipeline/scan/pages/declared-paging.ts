import { HighwaterError } from '../../../errors';
import type { Feed } from '../../../feeds/feed';
import { type FetchedPage, haveSameKeys, type PageFacts } from './page-facts';
import { firstNumber } from './paging';
import { noPage } from './refusals';

interface Reader {
  fetchNumbered(from: number, pageOffset: number): Promise<FetchedPage | null>;
}

/** No feed has so many pages. */
const FAR = 1_000_000;

/**
 * The settings of a feed may say what its page numbers count, and which is the first. If they are wrong, some rows are on no page that is
 * asked for, and nothing else shows it.
 * @throws HighwaterError SCAN_PAGING_IGNORED, if two tries agree
 */
export async function testDeclared(feed: Feed, reader: Reader): Promise<void> {
  const ask = async (number: number) => (await reader.fetchNumbered(0, number).catch(noPage))?.facts ?? null;
  // If rows move, or ties change places at each request, one number shows other rows each time.
  const isWrong = async (test: () => Promise<boolean>) => {
    if (!(await test())) return false;
    const [one, again] = [await ask(begin), await ask(begin)];
    return (one === null || again === null || !areOther(one, again)) && test();
  };
  const fail = (what: string, remedy: string): never => {
    throw new HighwaterError('SCAN_PAGING_IGNORED', `Feed ${feed.name}: ${what}`, { remedy });
  };
  const { style } = feed.paging;
  const begin = firstNumber(feed) ?? 0;
  const hasRowsBefore = async () => {
    const [page, next] = [await ask(begin - 1), await ask(begin)];
    if (!isBefore(page, next, style)) return false;
    // Some APIs show the last page for each number that they do not have.
    const far = await ask(FAR);
    return far === null || !haveSameKeys(page!, far);
  };
  if (begin > 0 && (await isWrong(hasRowsBefore)))
    fail(
      `number ${begin - 1} has rows that number ${begin} has not, so the rows before paging.first (${begin}) are never read.`,
      `Set \`paging.first\` of the feed to ${begin - 1}, or leave it out.`,
    );
  const countsPages = async () => {
    const [zero, one] = [await ask(begin), await ask(begin + 1)];
    if (zero === null || one === null || zero.length < 2 || one.length === 0) return false;
    if (!haveSameKeys(zero, one)) return shared(zero, one) === 0;
    const two = await ask(begin + 2);
    return two !== null && two.length > 0 && shared(zero, two) === 0;
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
  if (style === 'offset') return page.keys[1] === next.keys[0] && !next.keys.includes(page.keys[0]!);
  return areOther(page, next);
}

function areOther(page: PageFacts, other: PageFacts): boolean {
  return 2 * shared(page, other) < Math.min(page.length, other.length);
}

/** How many rows of a page are on another one, too. */
function shared(page: PageFacts, { keys }: PageFacts): number {
  const known = new Set(keys);
  return page.keys.filter((key) => known.has(key)).length;
}
