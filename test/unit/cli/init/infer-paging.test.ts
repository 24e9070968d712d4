import {
  type Answer,
  type AskEndpoint,
  filterEdge,
  findPaging,
  findUpdatedSince,
} from '../../../../src/cli/init/infer-paging';
import type { JsonObject } from '../../../../src/cli/init/row-members';
import { parseJson } from '../../../../src/json/parse-json';

const fields = { idField: 'id', updatedField: 'updated', updatedFormat: 'seconds', responseKey: '' } as const;
const begin = 1_769_851_800;
const rows: readonly JsonObject[] = Array.from({ length: 12 }, (_, i) => ({
  id: `r${i}`,
  updated: begin + i * 10,
}));
const answer = (some: readonly JsonObject[]): Answer => ({
  rows: some,
  body: some,
  linkHeader: undefined,
});

describe('pages', () => {
  const fromOne = (number: number) => rows.slice((number - 1) * 4, number * 4);

  it.each<[string, (number: number) => readonly JsonObject[], object]>([
    ['1, and page 0 is refused or empty', (number) => (number < 1 ? [] : fromOne(number)), { first: 1 }],
    ['1, and page 0 is page 1', (number) => fromOne(Math.max(1, number)), { first: 1 }],
    ['0', (number) => fromOne(number + 1), {}],
  ])('that begin at %s', async (_, pageAt, expected) => {
    const first = answer(rows.slice(0, 4));
    const ask: AskEndpoint = async ({ page }) => (page === undefined ? first : answer(pageAt(Number(page))));
    expect(await findPaging({}, fields, {}, ask)).toEqual({
      paging: { style: 'page', ...expected },
      parameter: 'page',
    });
  });
});

it('compares ids of more than 53 bits by their digits, and pages by them', async () => {
  const page = (from: number) =>
    answer(
      parseJson(`[${[0, 1, 2].map((i) => `{"id":90071992547409920${from + i}}`).join()}]`) as JsonObject[],
    );
  const ask: AskEndpoint = async ({ last_id: last }) => page(last === '900719925474099202' ? 3 : 0);
  expect(await findPaging({}, fields, { cursor: 'last_id' }, ask)).toEqual({
    paging: { style: 'cursor', parameter: 'last_id', lastRow: 'id' },
    parameter: null,
  });
});

describe('the next page is found by', () => {
  /** What `findPaging` finds at an API that answers rows from a number on, which a link or a parameter says. */
  async function found(
    more: (next: number) => object,
    numberIn: (query: URLSearchParams, path: string) => string | null,
  ) {
    const page = (from: number): Answer => {
      const some = rows.slice(from, from + 4);
      const body = { ...(from + 4 < rows.length ? more(from + 4) : {}), orders: some };
      return { rows: some, body, linkHeader: undefined };
    };
    const ask: AskEndpoint = async (query, link) => {
      const { searchParams, pathname } = new URL(
        link ?? `?${new URLSearchParams(query)}`,
        'http://api/orders',
      );
      return page(Number(numberIn(searchParams, pathname) ?? 0));
    };
    const { paging } = await findPaging({}, { ...fields, responseKey: 'orders' }, {}, ask);
    return paging;
  }

  it.each<[string, (n: number) => object]>([
    ['@odata.nextLink', (n) => ({ '@odata.nextLink': `http://api/orders?$skiptoken=${n}` })],
    ['nextLink', (n) => ({ nextLink: `?$skiptoken=${n}` })],
    ['nextRecordsUrl', (n) => ({ nextRecordsUrl: `/orders?$skiptoken=${n}` })],
    ['next_page_path', (n) => ({ next_page_path: `orders?$skiptoken=${n}` })],
    ['links.next.href', (n) => ({ links: { next: { href: `/orders?$skiptoken=${n}` } } })],
    ['_links.next.href', (n) => ({ _links: { next: { href: `/orders?$skiptoken=${n}`, title: 'next' } } })],
    ['a.b.c.d.next_page_url', (n) => ({ a: { b: { c: { d: { next_page_url: `?$skiptoken=${n}` } } } } })],
    ['next', (n) => ({ nextRun: '/jobs/7', next: `/orders?$skiptoken=${n}` })],
  ])('the address at %s', async (from, more) => {
    expect(await found(more, (query) => query.get('$skiptoken'))).toEqual({ style: 'link', from });
  });

  it.each<[string, string, (n: number) => object]>([
    ['scrollId', 'scrollId', (n) => ({ scrollId: `${n}` })],
    ['_scroll_id', 'scroll_id', (n) => ({ _scroll_id: `${n}` })],
    ['nextPageToken', 'pageToken', (n) => ({ nextPageToken: `${n}` })],
    ['offset', 'offset', (n) => ({ offset: `itrX/${n}` })],
    ['metadata.continue', 'continue', (n) => ({ metadata: { continue: `c/${n}` } })],
    ['meta.nextMark', 'mark', (n) => ({ meta: { nextMark: `${n}` } })],
    ['paging.next.after', 'after', (n) => ({ paging: { next: { after: `${n}`, link: '/elsewhere' } } })],
  ])('the text at %s, sent as %s', async (from, parameter, more) => {
    expect(await found(more, (query) => query.get(parameter)?.split('/').at(-1) ?? null)).toEqual({
      style: 'cursor',
      parameter,
      from,
    });
  });

  it.each<[string, (n: number) => object]>([
    ['a link that leads to the same rows', () => ({ next: '/orders' })],
    ['a link in a list', (n) => ({ links: [{ rel: 'next', href: `?$skiptoken=${n}` }] })],
    ['the address of something else', (n) => ({ self: `/orders?$skiptoken=${n}`, prev: '/orders' })],
  ])('not by %s', async (_, more) => {
    expect(await found(more, (query) => query.get('$skiptoken'))).toEqual({ style: 'none' });
  });
});

describe('an API that ignores parameters, and whose first rows move to the end meanwhile', () => {
  /** Two rows move before each request of these numbers. */
  function moving(at: readonly number[], moved: number, length: number): AskEndpoint {
    let asked = 0;
    let now = rows;
    return async () => {
      if (at.includes(asked++))
        now = [...now.slice(moved), ...now.slice(0, moved).map((row) => ({ ...row, updated: begin + 900 }))];
      return answer(now.slice(0, length));
    };
  }
  const moments = Array.from({ length: 40 }, (_, i) => i + 1);

  it.each([
    ['an offset', 1, { page: 'offset', cursor: '' }],
    ['a page', 4, { page: 'page', cursor: '' }],
    ['a cursor', 4, { page: '', cursor: 'after' }],
  ])('is not taken to page by %s', async (_, moved, known) => {
    for (const at of moments.slice(0, 6)) {
      const { paging } = await findPaging({}, fields, known, moving([at], moved, 4));
      expect(paging).toEqual({ style: 'none' });
    }
  });

  it('is not taken to have a filter', async () => {
    for (const at of moments)
      expect(await findUpdatedSince(answer(rows.slice(0, 4)), fields, {}, [], moving([at], 2, 4))).toBeNull();
  });
});

describe('an API that shows the newest rows first, and gets new ones meanwhile', () => {
  /** Before each request so many come. @param more what an answer says of the next page, by the number of its first row */
  function busy(each: number, more: (next: number) => object): AskEndpoint {
    let newest = 1_000;
    return async ({ limit = '10', after }, link) => {
      newest += each;
      const from = Number(after ?? link?.split('=').at(-1) ?? '') || newest;
      const some = Array.from({ length: Number(limit) }, (_, i) => ({ id: from - i }));
      return { rows: some, body: { ...more(from - Number(limit)), orders: some }, linkHeader: undefined };
    };
  }
  const found = (query: Readonly<Record<string, string>>, ask: AskEndpoint) =>
    findPaging(query, { ...fields, responseKey: 'orders' }, {}, ask);

  it.each([
    [1, { limit: '2' }],
    [3, { limit: '2' }],
    [4, {}],
  ])('is paged by what names the next page (%i before each request, asked with %j)', async (each, query) => {
    const link = await found(
      query,
      busy(each, (next) => ({ next: `/orders?after=${next}` })),
    );
    expect(link.paging).toEqual({ style: 'link', from: 'next' });
    const cursor = await found(
      query,
      busy(each, (next) => ({ next: next })),
    );
    expect(cursor.paging).toEqual({ style: 'cursor', parameter: 'after', from: 'next' });
  });

  it.each([1, 3, 4])('is not paged by a link to its first page (%i before each request)', async (each) => {
    const { paging } = await found(
      { limit: '2' },
      busy(each, () => ({ next: `/orders?after=` })),
    );
    expect(paging).toEqual({ style: 'none' });
  });
});

describe('a filter', () => {
  const edge = (least: (since: number) => number, order: 'oldest' | 'newest' = 'oldest', length = 6) => {
    const all = order === 'oldest' ? rows : rows.toReversed();
    const seen = (some: readonly JsonObject[]) => ({
      ids: some.slice(0, length).map(({ id }) => id),
      times: some.slice(0, length).map(({ updated }) => updated as number),
    });
    return filterEdge(seen(all), async (since) =>
      seen(all.filter(({ updated }) => (updated as number) >= least(since))),
    );
  };

  it.each(['oldest', 'newest'] as const)(
    'shows the time that is asked for, or does not: rows come %s first',
    async (order) => {
      expect(await edge((since) => since, order)).toBe('shown');
      expect(await edge((since) => since + 1, order)).toBe('later');
      const minute = await edge((since) => Math.ceil((since + 1) / 60) * 60, order);
      expect(minute).toBe(order === 'oldest' ? 'later' : 'unknown');
    },
  );

  it('by the time of creation hides rows, though it shows the row that is looked for when it is asked earlier', async () => {
    // The fourth row was created long before.
    const [updated, created] = [
      [0, 10, 19.2, 19.7, 20, 24],
      [0, 9, 19.1, 0, 19.5, 23],
    ];
    const seen = (some: readonly number[]) => ({
      ids: some,
      times: some.map((i) => begin + updated[i]! * 3_600),
    });
    const all = updated.map((_, i) => i);
    const ask = async (since: number) => seen(all.filter((i) => begin + created[i]! * 3_600 >= since));
    expect(await filterEdge(seen(all), ask)).toBe('hidden');
  });

  it('that shows nothing proves nothing', async () => {
    expect(await edge(() => Infinity)).toBe('unknown');
    expect(await edge((since) => since, 'oldest', 1)).toBe('unknown');
  });

  it('that goes by something else hides rows for good', async () => {
    expect(await edge(() => begin + 50, 'oldest')).toBe('hidden');
  });
});
