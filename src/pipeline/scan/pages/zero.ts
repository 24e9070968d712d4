import type { Feed } from '../../../feeds/feed';
import { rowKeys } from '../../../feeds/row-keys';
import type { Logger } from '../../../logging/logger';
import type { PageRequest, Source, SourcePage } from '../../../source/source';
import { pageFacts } from './page-facts';
import { UNANSWERED, unlessRefused } from './refusals';

/** Feeds whose API takes the number 0 as if no time was given, and then shows only the latest rows. */
const zeroIsNone = new WeakSet<Feed>();

/** The second that each pair of requests begins with. In no fixed turn does a page length that changes with each request always favour one. */
const TURNS = [0, 1, 1, 0] as const;

interface ZeroDeps {
  readonly source: Source;
  readonly logger: Logger;
}

/**
 * A source that asks the filter for second 1 in the place of second 0, if 0 always shows fewer or later rows. The first request from
 * second 0 tests it, since rows of second 0 or without a time may come only from 0 on.
 * That is warned of.
 */
export function besideZero(feed: Feed, { source, logger }: ZeroDeps): Source {
  const { parameters, updatedSinceFormat = feed.updatedFormat, beginAt = 0 } = feed;
  const isNumber = updatedSinceFormat === 'seconds' || updatedSinceFormat === 'milliseconds';
  if (parameters.updatedSince === null || !isNumber || beginAt > 0) return source;
  const keys = rowKeys(feed);
  let isOpen = !zeroIsNone.has(feed);

  /** @param first answer from second 0 */
  async function isNone(first: SourcePage, request: PageRequest, signal: AbortSignal): Promise<boolean> {
    const ask = (updatedSince: 0 | 1) =>
      unlessRefused(source.fetchPage(feed, { ...request, updatedSince }, signal), UNANSWERED);
    for (const [i, turn] of TURNS.entries()) {
      const early = i === 0 ? first : await ask(turn);
      const late = await ask(turn === 0 ? 1 : 0);
      const [zero, one] = turn === 0 ? [early, late] : [late, early];
      if (zero === null || one === null || !isWorse(zero, one)) return false;
    }
    return true;
  }

  function isWorse(zero: SourcePage, one: SourcePage): boolean {
    const [facts, { ascending, length, greatest }] = [pageFacts(zero.rows, keys), pageFacts(one.rows, keys)];
    if (facts.length < length || (zero.total ?? 0) < (one.total ?? 0)) return true;
    // A list that is oldest first begins with its oldest rows.
    return ascending && greatest !== null && greatest < (facts.least ?? 0);
  }

  return {
    async fetchPage(_feed, request, signal) {
      const { updatedSince, updatedUntil, continuation } = request;
      const isOfZero = updatedSince === 0 && updatedUntil === undefined;
      const page = () => {
        const isOne = isOfZero && zeroIsNone.has(feed);
        return source.fetchPage(feed, isOne ? { ...request, updatedSince: 1 } : request, signal);
      };
      if (!isOfZero || !isOpen || continuation !== undefined) return page();
      const first = await page();
      isOpen = false;
      if (!(await isNone(first, request, signal))) return first;
      zeroIsNone.add(feed);
      const what =
        'shows fewer or later rows from 0 on than from 1 on, as if 0 was no time. It is asked for 1 instead.';
      logger.warn(`Feed ${feed.name}: the filter ${parameters.updatedSince} ${what}`, { feed: feed.name });
      return page();
    },
  };
}
