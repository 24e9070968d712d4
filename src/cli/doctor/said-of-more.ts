import type { Feed } from '../../feeds/feed';
import { signsOfMore } from '../../source/more-rows';
import { parsedJson } from '../../source/response-policy';
import type { PageRequest, RowReader, Source } from '../../source/source';

/**
 * What the first answer says of rows behind it, for people; null: nothing, or the feed counts its pages and goes on by itself.
 * @param request for the first page, behind which the feed's paging has found none
 */
export async function saidOfMore(
  feed: Feed,
  request: PageRequest,
  source: Source,
  signal: AbortSignal,
): Promise<string | null> {
  const { paging, responseKey } = feed;
  if (paging.style === 'page' || paging.style === 'offset') return null;
  let answer: unknown;
  const readRows: RowReader = (body, mayRead) => {
    const text = body.shared();
    if (mayRead(text)) answer = parsedJson(text.toString())?.value;
    return null;
  };
  // With this paging, the body may be read as it came, and the header is, too.
  const byHeader = { ...feed, paging: { style: 'link', from: null, followPath: true } as const };
  const { next } = await source.fetchPage(byHeader, { ...request, readRows }, signal);
  const from = paging.style === 'none' ? undefined : paging.from;
  const signs = signsOfMore(answer, responseKey, next !== null)
    // On its last page, an API may name this page again.
    .filter(({ path, isSure }) => path !== from && (isSure || paging.style === 'none'));
  if (signs.length === 0) return null;
  const verb = signs.some(({ isSure }) => isSure) ? 'says' : 'may say';
  return `the answer ${verb} that there are more rows: ${signs
    .map(({ said }) => said)
    .slice(0, 5)
    .join(', ')}`;
}
