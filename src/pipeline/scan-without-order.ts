import type { Feed } from '../feeds/feed';
import type { Logger } from '../logger';
import type { ScanPage } from '../types';
import { behindFirstPage } from './first-page';
import type { PageFacts } from './page-facts';
import { firstPage, lastPage, rewound, type ScanPosition, scanPage, walk } from './scan-pages';

/** The filter is ignored or the order is not given: everything has to be read before the mark may move. */
export async function* scanWithoutOrder(
  feed: Feed,
  from: number,
  start: { readonly highWaterMark: number },
  position: ScanPosition,
  logger: Logger,
): AsyncGenerator<ScanPage> {
  const { reader } = position;
  const window = { from, second: null, pagingLimit: feed.pagingLimit, feed: feed.name };
  for (;;) {
    let begin = await firstPage(reader, from);
    if (begin.knownSecond < from)
      return yield* scanWithoutOrder(feed, rewound(feed, begin), start, position, logger);
    if (begin.facts.length === 0) begin = await firstPage(reader, from);
    let ordered = isInOrder(begin.facts, from);
    let greatest = begin.facts.greatest ?? start.highWaterMark;
    yield scanPage(position, begin, false);
    // One page that holds the whole window needs no order.
    const beyond = await behindFirstPage(feed, reader, from, begin.facts);
    if (beyond === 'page-size-changed') continue;
    if (beyond === 'more') {
      const { end } = yield* walk(window, position, logger, (page) => {
        ordered &&= page.facts.ascending;
        greatest = Math.max(greatest, page.facts.greatest ?? 0);
      });
      if (end === 'begin-again') continue;
    }
    // A row that moved while the pages were read may have been missed: it is no older than the first answer.
    position.highWaterMark = Math.min(greatest, begin.knownSecond);
    reader.setPaging({ ...reader.paging(), ordered });
    yield lastPage(position, begin);
    return;
  }
}

/** Enough rows that they are oldest first by more than chance: the server may be trusted again. */
function isInOrder(facts: PageFacts, from: number): boolean {
  const { least, greatest, ascending, length } = facts;
  if (least === null || greatest === null) return false;
  return ascending && least >= from && least < greatest && length >= LEAST_ROWS_IN_ORDER;
}

const LEAST_ROWS_IN_ORDER = 20;
