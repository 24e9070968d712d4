import { usualShape } from '../../feeds/definition';
import { type RowKeys, rowKeys } from '../../feeds/row-keys';
import type { SourcePage } from '../../source/source';
import { type PageFacts, pageFacts } from './page-facts';

/** One answer of the server, and how to ask for it again. */
export interface FetchedPage {
  readonly rows: readonly unknown[];
  readonly facts: PageFacts;
  /** How the answer says that the next page is asked for; null: there is none, or pages are asked for by number. */
  readonly next: string | null;
  /** The server's clock when it answered; the own clock where the answer has no date. Unix seconds. */
  readonly serverSecond: number;
  readonly ownSecond: number;
  /** Least of the server's and the own clock, Unix seconds: the high-water mark never passes it. */
  readonly knownSecond: number;
  readonly observedAtMs: number;
  reread(): Promise<readonly unknown[]>;
}

export function fetchedPage(page: SourcePage, keys: RowKeys, reread: FetchedPage['reread']): FetchedPage {
  const ownSecond = Math.floor(page.receivedAtMs / 1000);
  const serverSecond = page.serverDateMs === null ? ownSecond : Math.floor(page.serverDateMs / 1000);
  return {
    rows: page.rows,
    facts: pageFacts(page.rows, keys),
    next: page.next,
    serverSecond,
    ownSecond,
    knownSecond: Math.min(serverSecond, ownSecond),
    observedAtMs: page.receivedAtMs,
    reread,
  };
}

const noRows = pageFacts([], rowKeys(usualShape));

/** The empty page behind the last one. It needs no request where the last page says that it is the last. */
export function pageBehind(last: FetchedPage): FetchedPage {
  return { ...last, rows: [], facts: noRows, next: null, reread: async () => [] };
}
