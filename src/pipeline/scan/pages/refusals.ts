import { type ErrorCode, HighwaterError } from '../../../errors';
import type { Feed } from '../../../feeds/feed';
import type { PageRequest } from '../../../source/source';
import type { FetchedPage } from './page-facts';

export const REFUSALS: readonly ErrorCode[] = ['SOURCE_NOT_FOUND', 'SOURCE_REQUEST_REFUSED'];
/** The same for a place that an earlier answer named. */
export const EXPIRED: readonly ErrorCode[] = ['SCAN_CURSOR_EXPIRED'];
/** How an API may answer a number at which it has no page. */
export const UNANSWERED: readonly ErrorCode[] = [...REFUSALS, 'SOURCE_UNAVAILABLE'];

/** If a place that an earlier answer named is refused, the place is at fault, not the endpoint. */
export function throwAnswer(error: unknown, feed: Feed, { updatedSince, continuation }: PageRequest): never {
  if (continuation === undefined || !isCode(error, REFUSALS)) throw error;
  throw new HighwaterError(
    'SCAN_CURSOR_EXPIRED',
    `The place at which the rows of feed ${feed.name} from ${updatedSince} on go on is not accepted by the API: ${(error as Error).message}`,
    { cause: error },
  );
}

export function hasRows(answer: FetchedPage | HighwaterError): answer is FetchedPage {
  return !(answer instanceof HighwaterError) && answer.facts.length > 0;
}

export function isCode(error: unknown, codes: readonly ErrorCode[]): boolean {
  return error instanceof HighwaterError && codes.includes(error.code);
}

export function orRefusal(error: unknown, refusals: readonly ErrorCode[]): HighwaterError {
  if (!isCode(error, refusals)) throw error;
  return error as HighwaterError;
}

/** Null if the API refuses what is asked for, such as a page size: some know only a few. */
export async function unlessRefused<T>(answer: Promise<T>, refusals = REFUSALS): Promise<T | null> {
  return answer.catch((error) => {
    orRefusal(error, refusals);
    return null;
  });
}

/** An API may answer anything for a page that it does not have: that its plan does not allow such a page, an error, or nothing at all. */
export function noPage(error: unknown): null {
  const isOfApi = error instanceof HighwaterError && error.code.startsWith('SOURCE_');
  if (!isOfApi || error.code === 'SOURCE_CLOSED') throw error;
  return null;
}

/**
 * The API may have come to count its pages from 1. That is not learned: if page 0 is refused for its rows, these would never be read.
 * @param zero how page 0 was refused, which was the first page until then
 */
export async function noZero(
  { name }: Feed,
  zero: HighwaterError,
  ask: (number: number) => Promise<FetchedPage | null>,
): Promise<HighwaterError> {
  const one = isCode(zero, REFUSALS) ? await ask(1).catch(noPage) : null;
  if (one === null || !hasRows(one)) return zero;
  return new HighwaterError(
    zero.code,
    `Feed ${name}: page 0 is refused, and page 1 has rows: the API may count its pages from 1 now (paging.first: 1), or only page 0 fails. ${zero.message}`,
    {
      remedy:
        'If the vendor has changed that, set paging.first: 1 of the feed in highwater.yaml. If only page 0 fails, do not: its rows would be missing; tell the vendor.',
      cause: zero,
    },
  );
}
