import { avroRecord } from '../../support/avro';
import { commandsHere } from '../../support/cli';
import { askDoctor } from '../../support/doctor';
import { endsWithTest } from '../../support/ends';
import { sendJson, startHttpServer } from '../../support/http-server';
import { namedRows } from '../../support/named-rows';
import { declareFeed } from '../../support/own-feed';

const { folder, here } = commandsHere();

const begin = 1_769_851_800;
const rows = Array.from({ length: 130 }, (_, i) => ({ id: `t${i}`, updated: begin + i * 20 }));
type Rows = { id: string; updated?: number }[];
/** Null: refused. */
type Answer = (query: { since: number; page: number; isFiltered: boolean }) => Rows | null;

const pageOf = (all: Rows, page: number): Rows => (page < 0 ? [] : all.slice(page * 50, (page + 1) * 50));
const since = (least: number) => rows.filter(({ updated }) => updated >= least);

/** The lines that doctor prints for a feed of this server. */
async function examined(answer: Answer, own: object = {}, beside: object = {}, headers: object = {}) {
  const server = await startHttpServer((request, response) => {
    const query = new URL(request.url!, 'http://host').searchParams;
    const number = (name: string) => Number(query.get(name));
    const found = answer({ since: number('since'), page: number('page'), isFiltered: query.has('since') });
    sendJson(
      response,
      found === null ? { detail: 'Invalid page.' } : { ...beside, tasks: found },
      found === null ? 422 : 200,
      headers,
    );
  });
  endsWithTest(() => server.stop());
  const parameters = { page: 'page', pageSize: null, updatedSince: 'since' };
  declareFeed(folder(), 'tasks', avroRecord('Task'), { apiUrl: server.url, parameters, ...own });
  const { of, code } = await askDoctor(here);
  const check = of('feed', 'tasks');
  expect(code).toBe(check.state === 'failed' ? 1 : 0);
  return check;
}

it.each(
  namedRows<[Answer, string, RegExp]>({
    'shows its own second': [
      (query) => pageOf(since(query.since), query.page),
      'ok',
      /updated filter honoured/,
    ],
    'leaves out its own second': [
      (query) => pageOf(since(query.since + 1), query.page),
      'warning',
      /the parameter since leaves out rows of the very second that is asked for/,
    ],
    'leaves out some later rows': [
      (query) => pageOf(query.since <= 1 ? rows : since(Math.max(query.since, begin + 49 * 20)), query.page),
      'warning',
      /the parameter since leaves out rows that were updated later/,
    ],
    'counts days': [
      (query) => pageOf(since(Math.floor(query.since / 86_400) * 86_400), query.page),
      'ok',
      /updated filter honoured/,
    ],
    'hides rows without a time': [
      ({ since: from, page, isFiltered }) => [
        ...pageOf(since(from), page),
        ...(isFiltered ? [] : [{ id: 'x' }]),
      ],
      'warning',
      /the first page without the parameter since has 1 records without updated/,
    ],
    'takes 0 for no time': [
      ({ since: from, page }) => pageOf(since(from === 0 ? begin + 100 * 20 : from), page),
      'warning',
      /the API takes 0 for no time/,
    ],
    'shows nothing': [
      (query) => pageOf(query.since <= 1 ? rows : [], query.page),
      'ok',
      /no answer shows whether it includes its own second/,
    ],
  }),
)('a filter that %s', async (_, answer, state, found) => {
  const check = await examined(answer);
  expect(check).toMatchObject({ state, found: expect.stringMatching(found) as string });
});

const minute = rows.map((row) => ({ ...row, updated: begin }));

it.each<[string, Answer, string, RegExp]>([
  [
    'that counts minutes is honoured',
    (query) => (query.since < begin + 60 ? pageOf(minute, query.page) : []),
    'ok',
    /honoured, as far/,
  ],
  [
    'that refuses later times is not blamed',
    (query) => (query.since > begin ? null : pageOf(minute, query.page)),
    'ok',
    /honoured, as far/,
  ],
  [
    'that is ignored is found',
    (query) => pageOf(minute, query.page),
    'failed',
    /the parameter since is ignored/,
  ],
])('of rows of one minute, a filter %s', async (_, answer, state, found) => {
  expect(await examined(answer)).toMatchObject({ state, found: expect.stringMatching(found) as string });
});

it.each<[string, Answer]>([
  ['refused', ({ page, since: from }) => (page < 1 ? null : pageOf(since(from), page - 1))],
  ['empty', ({ page, since: from }) => pageOf(since(from), page - 1)],
])('pages that begin at 1, and page 0 is %s', async (_, answer) => {
  const found = expect.stringMatching(/pages counted from 1/) as string;
  expect(await examined(answer)).toMatchObject({ state: 'ok', found });
  expect(await examined(answer, { paging: { style: 'page', first: 1 } })).toMatchObject({
    state: 'ok',
    found,
  });
});

it('an API that answers only some days is asked for the latest of them', async () => {
  const now = Math.floor(Date.now() / 1000);
  const latest = rows.map((row, i) => ({ ...row, updated: now - 9_000 + i * 20 }));
  const answer: Answer = ({ page, since: from }) =>
    from < now - 31 * 86_400
      ? null
      : pageOf(
          latest.filter(({ updated }) => updated >= from),
          page,
        );
  expect(await examined(answer)).toMatchObject({ state: 'failed' });
  expect(await examined(answer, { window: '30d' })).toMatchObject({
    state: 'ok',
    found: expect.stringContaining('updated filter honoured') as string,
  });
});

describe('a feed whose paging ends at the first page', () => {
  const whole: Answer = (query) => pageOf(since(query.since), 0);
  const none = { paging: { style: 'none' } };
  const cursor = { paging: { style: 'cursor', parameter: 'after', from: 'meta.next' } };
  const link = { paging: { style: 'link', from: 'next' } };

  it.each<[object, object, object, string]>([
    [
      none,
      { '@odata.nextLink': '/tasks?x=2' },
      {},
      'says that there are more rows: @odata.nextLink holds an address',
    ],
    [none, { done: false, totalSize: 130 }, {}, 'says that there are more rows: done: false, totalSize: 130'],
    [
      none,
      {},
      { link: '</tasks?page=2>; rel="next"' },
      'says that there are more rows: the header Link names a next page',
    ],
    [none, { count: 130 }, {}, 'may say that there are more rows: count: 130'],
    [cursor, { meta: { next: null, total: 130 } }, {}, 'says that there are more rows: meta.total: 130'],
    [cursor, { meta: { count: 130 } }, {}, 'may say that there are more rows: meta.count: 130'],
    [
      link,
      { links: { next: '/tasks?x=2' } },
      {},
      'says that there are more rows: links.next holds an address',
    ],
  ])('%j, beside %j %j', async (own, beside, headers, said) => {
    const parameters = { updatedSince: 'since', pageSize: 'size' };
    expect(await examined(whole, { ...own, parameters }, beside, headers)).toMatchObject({
      state: 'warning',
      found: `no page follows the first one, but the answer ${said}`,
      do: expect.stringContaining('Set paging of the feed') as string,
    });
  });

  it.each<[object, object]>([
    [none, { total: 50, has_more: false }],
    [cursor, { meta: { next: null }, count: 130 }],
    [link, { next: null }],
  ])('%j, beside %j: is well', async (own, beside) => {
    const parameters = { updatedSince: 'since', pageSize: 'size' };
    expect(await examined(whole, { ...own, parameters }, beside)).toMatchObject({ state: 'ok' });
  });
});

it('a feed without a row is not called well', async () => {
  expect(await examined(() => [])).toMatchObject({
    state: 'warning',
    found: 'answered without a record: nothing more can be told',
  });
});
