import { usualShape } from '../../../feeds/definition';
import { type RowKeys, rowKeys } from '../../../feeds/row-keys';
import { jsonText } from '../../../json/json-text';
import type { SourcePage } from '../../../source/source';

/** The facts about a page's rows by which the scan decides where to continue. Times are whole Unix seconds. */
export interface PageFacts {
  readonly length: number;
  /** By position; null if a row has none. */
  readonly ids: readonly (string | null)[];
  /** The id, or the content of a row without an id. Tells rows apart. */
  readonly keys: readonly string[];
  readonly updated: readonly (number | null)[];
  /** Least, greatest and last time stamp on the page; null when no row has one. */
  readonly least: number | null;
  readonly greatest: number | null;
  readonly last: number | null;
  /** No row is older than the row before it. */
  readonly ascending: boolean;
}

export function pageFacts(rows: readonly unknown[], rowKeys: RowKeys): PageFacts {
  const ids = rows.map(rowKeys.id);
  const keys = ids.map((id, i) => id ?? `${CONTENT}${jsonText(rows[i])}`);
  // Filters have whole seconds, so rows of one second are ties even if their fractions differ.
  const updated = rows.map((row) => secondOf(rowKeys.updated(row)));
  let least: number | null = null;
  let greatest: number | null = null;
  let last: number | null = null;
  let ascending = true;
  for (const second of updated) {
    if (second === null) continue;
    if (last !== null && second < last) ascending = false;
    least = Math.min(least ?? second, second);
    greatest = Math.max(greatest ?? second, second);
    last = second;
  }
  return { length: rows.length, ids, keys, updated, least, greatest, last, ascending };
}

/** Begins the key of a row without an id. */
const CONTENT = '\0';

/** Whether a key is that of a row without an id. */
export function isContent(key: string): boolean {
  return key.startsWith(CONTENT);
}

/** Whether a key is that of a row that is null, or another value without members. */
export function isNoRecord(key: string): boolean {
  return isContent(key) && key[CONTENT.length] !== '{';
}

function secondOf(updated: number | null): number | null {
  return updated === null ? null : Math.floor(updated);
}

/** Whether all rows of `page` are on `earlier` too. */
export function bringsNothingNew(page: PageFacts, earlier: PageFacts): boolean {
  const known = new Set(earlier.keys);
  return page.keys.every((key) => known.has(key));
}

/** The server showed the same page again. (A shorter one of known rows may be ties in another order.) */
export function repeats(page: PageFacts, earlier: PageFacts): boolean {
  return page.length > 0 && page.length === earlier.length && bringsNothingNew(page, earlier);
}

/** Rows that come in both lists come in the same order. @param keys none comes twice */
export function keepsOrder(keys: readonly string[], before: readonly string[]): boolean {
  const places = new Map(before.map((key, at) => [key, at]));
  let last = -1;
  return keys.every((key) => {
    const place = places.get(key) ?? last;
    const isBehind = place >= last;
    last = place;
    return isBehind;
  });
}

/** The same rows in the same places. */
export function haveSameKeys({ keys }: PageFacts, other: PageFacts): boolean {
  return keys.length === other.keys.length && keys.every((key, at) => key === other.keys[at]);
}

/**
 * How many rows with an id end `page` and begin the next one.
 * @param mayBeWhole the whole page may be repeated
 */
export function seamRows(page: PageFacts, next: PageFacts, mayBeWhole: boolean): number {
  const at = page.keys.indexOf(next.keys[0] ?? '');
  const isSeam = at >= (mayBeWhole ? 0 : 1) && page.keys.slice(at).every((key, i) => key === next.keys[i]);
  return isSeam ? page.ids.slice(at).filter((id) => id !== null).length : 0;
}

/** One answer of the server, and how to ask for it again. */
export interface FetchedPage {
  readonly rows: readonly unknown[];
  readonly facts: PageFacts;
  /** How the answer says that the next page is asked for; null: there is none, or pages are asked for by number. */
  readonly next: string | null;
  /** As in `SourcePage`; null: the answer does not say so. */
  readonly isLast: boolean | null;
  readonly total: number | null;
  readonly partialBy: string | null;
  readonly moreBy: string | null;
  readonly isEndSaid: boolean;
  /** As in `ScanPage`. */
  readonly isVague: boolean;
  /** The server's clock when it answered; the own clock where the answer has no date. Unix seconds. */
  readonly serverSecond: number;
  readonly ownSecond: number;
  /** Least of the server's and the own clock, Unix seconds: the high-water mark never passes it. */
  readonly knownSecond: number;
  readonly observedAtMs: number;
  /** As in `SourcePage`; 0: nothing shows an age. */
  readonly agedMs: number;
  /** No rows if a cache has kept the answer since before this one. */
  reread(): Promise<readonly unknown[]>;
}

/** @param ask asks for the page again */
export function fetchedPage(page: SourcePage, keys: RowKeys, ask: () => Promise<SourcePage>): FetchedPage {
  const ownSecond = Math.floor(page.receivedAtMs / 1000);
  const serverSecond = page.serverDateMs === null ? ownSecond : Math.floor(page.serverDateMs / 1000);
  return {
    rows: page.rows,
    facts: pageFacts(page.rows, keys),
    next: page.next,
    isLast: page.isLast ?? null,
    total: page.total ?? null,
    partialBy: page.partialBy ?? null,
    moreBy: page.moreBy ?? null,
    isEndSaid: page.isEndSaid ?? false,
    isVague: page.isVague ?? false,
    serverSecond,
    ownSecond,
    knownSecond: Math.min(serverSecond, ownSecond),
    observedAtMs: page.receivedAtMs,
    agedMs: page.agedMs ?? 0,
    async reread() {
      const again = await ask();
      // The same answer from a cache confirms nothing.
      const isWitness = (again.agedMs ?? 0) <= again.receivedAtMs - page.receivedAtMs;
      return isWitness ? again.rows : [];
    },
  };
}

/** The facts of a page that no answer has shown. */
export const noRows = pageFacts([], rowKeys(usualShape));

/** The empty page behind the last page, for a last page that says so itself. */
export function pageBehind(last: FetchedPage): FetchedPage {
  const end = { next: null, isLast: true, total: null };
  return { ...last, ...end, rows: [], facts: noRows, reread: async () => [] };
}

/** A page that was read, and how it was asked for. */
export interface ReadPage {
  readonly from: number;
  readonly n: number;
  readonly pageSize: number;
  readonly page: FetchedPage;
}

/** The position of a page, and how many rows it had. */
export interface Numbered {
  readonly n: number;
  readonly pageSize: number;
  readonly offset: number;
  readonly length: number;
  /** Rows of the longest page up to this one. */
  readonly longest: number;
}

/** Whether a page behind one that may be the last shows the first page again, or that one, apart from changes. */
export function beginsAgain(
  { from, n, page }: ReadPage,
  last: ReadPage | null,
  first: PageFacts | null,
): boolean {
  if (last === null || last.from !== from || last.n !== n - 1) return false;
  return [last.page.facts.keys, first?.keys].some((keys) => {
    const known = new Set(keys);
    return 2 * page.facts.keys.filter((key) => known.has(key)).length > page.facts.length;
  });
}
