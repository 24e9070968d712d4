import type { FetchedPage, PageFacts } from './pages/page-facts';
import type { PageReader } from './pages/page-reader';
import { LEAST_EVIDENCE } from './pages/paging';

/** A row is older than the second that was asked for, or than the row before it. */
export function isOutOfOrder({ ascending, least }: PageFacts, asked: number): boolean {
  return !ascending || (least !== null && least < asked);
}

/** Whether one of the rows behind a first page is older than its last row. A few of them may have been updated together. */
export async function showsOlder(reader: PageReader, anchor: number, first: PageFacts): Promise<boolean> {
  const known = new Set(first.keys);
  const last = first.last ?? anchor;
  let before = first.length;
  for (let n = 1, rows = 0; rows < LEAST_EVIDENCE && before < reader.reach; n++) {
    const page = await reader.read(anchor, n, before);
    if (page === 'page-size-changed' || page.facts.length === 0 || n > LEAST_EVIDENCE) return false;
    const { keys, updated, length } = page.facts;
    const news = keys.map((key, i) => (known.has(key) ? null : (updated[i] ?? last)));
    if (news.some((second) => second !== null && second < last)) return true;
    rows += news.filter((second) => second !== null).length;
    before += length;
  }
  return false;
}

/** The first page from an anchor on. An odd answer is believed if a second answer is odd in the same way. */
export async function believed(
  reader: PageReader,
  anchor: number,
  expectsRows: boolean,
): Promise<FetchedPage> {
  const met = new Set<string>();
  for (;;) {
    const page = await reader.readFirst(anchor);
    const isEmpty = page.facts.length === 0;
    const isOdd = isOutOfOrder(page.facts, reader.least(anchor));
    const odd = isEmpty && expectsRows ? 'empty' : isOdd ? 'out of order' : null;
    if (odd === null || met.has(odd)) return page;
    met.add(odd);
  }
}
