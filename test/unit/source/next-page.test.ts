import type { IncomingMessage } from 'node:http';
import type { FeedDefinition, PagingStyle } from '../../../src/feeds/definition';
import type { PageRequest } from '../../../src/source/source';
import { sendJson } from '../../support/http-server';
import { failureOf, feed, never, page, server, source, stopAll, token } from './client-fixture';

afterEach(stopAll);

const cursor: PagingStyle = { style: 'cursor', parameter: 'after', from: 'meta.next' };
const header: PagingStyle = { style: 'link', from: null };
const inBody: PagingStyle = { style: 'link', from: '@odata.nextLink' };

const pagedBy = (paging: PagingStyle): FeedDefinition => ({ ...feed, paging });
const queryOf = ({ url }: Pick<IncomingMessage, 'url'>) =>
  Object.fromEntries(new URL(url ?? '', 'http://host').searchParams);

/** The next page that the answer names, as the client reads it. */
async function next(paging: PagingStyle, body: unknown, link?: string | string[]): Promise<string | null> {
  const api = await server((_, response) =>
    sendJson(response, body, 200, link === undefined ? {} : { link }),
  );
  const read = await source(api.url).fetchPage(pagedBy(paging), page, never);
  return read.next?.replace(api.url, 'API') ?? null;
}

const rows = [{ id: 'a', updated: 1 }];

it.each<[string | undefined, PagingStyle, object]>([
  ['@odata.nextLink', { style: 'link', from: '@odata.nextlink' }, { '@odata.nextLink': '/ipos?page=2' }],
  ['done', { style: 'link', from: 'nextRecordUrl' }, { done: false, nextRecordsUrl: '/query/01g-2' }],
  ['paging.next.after', { ...cursor, from: 'paging.after' }, { paging: { next: { after: '2' } } }],
  ['has_more', cursor, { has_more: true }],
  // The last page says so, or counts other rows, or names a time.
  [undefined, cursor, { done: true, next_page: 2 }],
  [undefined, cursor, { meta: { next: null }, total: 600 }],
  [undefined, cursor, { next: '2026-11-29T00:00:00Z' }],
  [undefined, { ...cursor, hasMore: 'meta.more' }, { done: false, meta: { more: false } }],
  [undefined, inBody, {}],
  ['next_cursor', { style: 'none' }, { next_cursor: 'b' }],
  ['meta.has_more', { style: 'none' }, { meta: { has_more: true, next_cursor: 'b' } }],
  [undefined, { style: 'none' }, { next_cursor: null, total: 600 }],
  // So APIs say that there is none.
  [undefined, { style: 'none' }, { next_page: -1, meta: { next_cursor: 'none', next: 'null' } }],
  [undefined, { style: 'none' }, { links: [{ rel: 'next', href: null }] }],
  [undefined, { style: 'none' }, { has_more: 'false', next_cursor: 'b' }],
  [undefined, { style: 'none' }, { has_more: 0, next_cursor: 'b' }],
  ['has_more', { style: 'none' }, { has_more: 1 }],
])('an answer that names no next page says by %s that there is one (%j)', async (by, paging, beside) => {
  const api = await server((_, response) => sendJson(response, { ipos: rows, ...beside }));
  const read = await source(api.url).fetchPage(pagedBy(paging), page, never);
  expect([read.next, read.moreBy]).toEqual([null, by]);
});

it.each<[true | undefined, PagingStyle, object, string?]>([
  [true, { ...cursor, hasMore: 'meta.more' }, { meta: { more: false } }],
  [true, { ...cursor, lastRow: 'id', hasMore: 'more' }, { more: false }],
  [true, cursor, { meta: { next: null } }],
  [true, cursor, { meta: { next: '' } }],
  [true, cursor, { meta: { next: -1 } }],
  [true, cursor, { done: true }],
  [true, inBody, { '@odata.nextLink': null }],
  [true, { style: 'link', from: null }, {}, '<https://api.example/ipos?page=1>; rel="prev"'],
  [true, { style: 'link', from: null }, {}, '<https://api.example/ipos?page=1>; rel="previous"'],
  // It may be named elsewhere.
  [undefined, cursor, {}],
  [undefined, cursor, { meta: { next: null }, end_cursor: 'b' }],
  [undefined, cursor, { done: true, response: { nextPageToken: 'b' } }],
  [undefined, cursor, { meta: { next: null, next_page_token: 'b' } }],
  [undefined, cursor, { meta: { next: 'b' }, done: true }],
  [undefined, { style: 'link', from: null }, {}, '<https://api.example/ipos>; rel="self"'],
  [undefined, { style: 'link', from: null }, { done: true }],
])('an answer says by itself that no page follows: %s (%j, %j)', async (said, paging, beside, link = '') => {
  const api = await server((_, response) =>
    sendJson(response, { ipos: rows, ...beside }, 200, link === '' ? {} : { link }),
  );
  const read = await source(api.url).fetchPage(pagedBy(paging), page, never);
  expect(read.isEndSaid).toBe(said);
});

it.each<[string | undefined, PagingStyle]>([
  ['Link', { style: 'none' }],
  ['Link', inBody],
  [undefined, { style: 'page' }],
])(
  'the header Link may say that there is a next page that the feed does not ask for (%s, %j)',
  async (by, paging) => {
    const link = '<https://api.example/ipos?page=2>; rel="next"';
    const api = await server((_, response) => sendJson(response, { ipos: rows }, 200, { link }));
    const read = await source(api.url).fetchPage(pagedBy(paging), page, never);
    expect([read.next, read.moreBy]).toEqual([null, by]);
  },
);

it.each([
  ['there is more', { ipos: [], meta: { next: 'n', more: true } }, 'n'],
  ['there is no more', { ipos: [], meta: { next: 'n', more: false } }, null],
  ['the flag is not there', { ipos: [], meta: { next: 'n' } }, 'n'],
])(
  'a cursor in the answer counts unless the flag says that it is the last page: %s',
  async (_, body, expected) => {
    expect(await next({ ...cursor, hasMore: 'meta.more' }, body)).toBe(expected);
  },
);

it.each([
  ['at the end', true, null],
  ['before the end', false, 'n'],
  ['nowhere', undefined, 'n'],
])('a flag that is true on the last page counts the other way round: %s', async (_, end, expected) => {
  expect(await next({ ...cursor, hasMore: '!meta.end' }, { ipos: [], meta: { next: 'n', end } })).toBe(
    expected,
  );
});

it.each([
  [0, 1],
  ['false', 'true'],
  ['No', 'yes'],
  ['0', '1'],
  [[], [{ id: 'a' }]],
  [0, 250],
])('a flag may be %j on the last page, and %j before', async (end, more) => {
  const paging = { ...cursor, hasMore: 'meta.more' };
  const ends = [];
  for (const flag of [end, more])
    ends.push(await next(paging, { ipos: [], meta: { next: 'n', more: flag } }));
  expect(ends).toEqual([null, 'n']);
  for (const flag of [{}, 'n/a', '', null])
    expect(await next(paging, { ipos: [], meta: { next: 'n', more: flag } })).toBe('n');
});

it.each([null, undefined, ''])(
  'more rows follow, and the cursor is %p: the page is not the last',
  async (cursorText) => {
    const body = { ipos: [], meta: { next: cursorText, more: true } };
    const api = await server((_, response) => sendJson(response, body));
    const read = await source(api.url).fetchPage(pagedBy({ ...cursor, hasMore: 'meta.more' }), page, never);
    expect(read).toMatchObject({ next: null, isLast: false });
  },
);

describe('a cursor from the last row', () => {
  const paging: PagingStyle = { style: 'cursor', parameter: 'after', lastRow: 'key.no', hasMore: 'more' };
  const ipos = [{ key: { no: 1 } }, { key: { no: 2 } }];

  it.each([
    ['more rows follow', { ipos, more: true }, '2'],
    ['the flag is not there', { ipos }, '2'],
    ['no more rows follow', { ipos, more: false }, null],
    ['the page is empty', { ipos: [] }, null],
  ])('when %s', async (_, body, expected) => {
    expect(await next(paging, body)).toBe(expected);
  });

  it('may be an item of a list', async () => {
    expect(
      await next({ ...paging, lastRow: 'sort.1' }, { ipos: [{ sort: ['a', 5] }, { sort: ['a', 6] }] }),
    ).toBe('6');
  });

  it.each([
    ['no rows, but the promise of more', { ipos: [], more: true }, 'no rows'],
    ['a last row without it', { ipos: [...ipos, {}], more: true }, 'nothing at "key.no" of the last row'],
    [
      'a value that the row before has, too',
      { ipos: [...ipos, { id: 'b', key: { no: 2 } }] },
      'two rows of the value 2 at "key.no"',
    ],
  ])('an answer with %s is an error, not the end', async (_, body, said) => {
    const api = await server((_request, response) => sendJson(response, body));
    const client = source(api.url, { limits: { retry: { attempts: 1 } } });
    const error = await failureOf(client.fetchPage(pagedBy(paging), page, never));
    expect(error).toMatchObject({ code: 'SOURCE_WRONG_SHAPE', message: expect.stringContaining(said) });
  });
});

describe('a cursor', () => {
  it.each([
    ['a text', { ipos: [], meta: { next: 'abc==' } }, 'abc=='],
    ['a number', { ipos: [], meta: { next: 12 } }, '12'],
    ['zero', { ipos: [], meta: { next: 0 } }, '0'],
    ['minus one', { ipos: [], meta: { next: -1 } }, null],
    ['minus one as a text', { ipos: [], meta: { next: '-1' } }, null],
    ['null', { ipos: [], meta: { next: null } }, null],
    ['an empty text', { ipos: [], meta: { next: '' } }, null],
    ['false', { ipos: [], meta: { next: false } }, null],
    ['nothing', { ipos: [], meta: {} }, null],
    ['no object around it', { ipos: [], meta: null }, null],
    ['a member with the whole name', { ipos: [], 'meta.next': 'x' }, 'x'],
  ])('is read from %s', async (_, body, expected) => {
    expect(await next(cursor, body)).toBe(expected);
  });

  it('is no member that every object has', async () => {
    const body = { ipos: [], meta: {} };
    for (const from of ['constructor.name', 'meta.toString', 'meta.__proto__'])
      expect(await next({ ...cursor, from }, body)).toBeNull();
  });

  it.each([
    ['an object', '{"a":1}', 'an object at "meta.next", not a text or a number that leads to the next page.'],
    [
      'an object with an address',
      '{"href":"/x"}',
      'there is a text at "meta.next.href": set paging.from to it.',
    ],
    ['a list', '[1]', 'a list at "meta.next"'],
    ['true', 'true', 'true at "meta.next"'],
  ])('that is %s is an error, not the end', async (_, text, said) => {
    const api = await server((_, response) => sendJson(response, `{"ipos":[],"meta":{"next":${text}}}`));
    const client = source(api.url, { limits: { retry: { attempts: 1 } } });
    const error = await failureOf(client.fetchPage(pagedBy(cursor), page, never));
    expect(error).toMatchObject({
      code: 'SOURCE_WRONG_SHAPE',
      message: expect.stringContaining(said),
    });
  });

  it('is asked for by its parameter, beside the usual query without a page', async () => {
    const api = await server((_, response) => sendJson(response, { ipos: [] }));
    const client = source(api.url);
    const usual = {
      'parameters[tickers]': 'AAA,B C',
      pagesize: '50',
      'parameters[updated]': '1700000000',
      token,
    };
    await client.fetchPage(pagedBy(cursor), page, never);
    await client.fetchPage(pagedBy(cursor), { ...page, continuation: 'a+b=&c' }, never);
    expect(api.requests.map(queryOf)).toEqual([usual, { ...usual, after: 'a+b=&c' }]);
  });

  it('is read from a body that is large, and from one that another reader could read', async () => {
    const rows = Array.from({ length: 10 }, () => ({ id: 'x'.repeat(200_000) }));
    const readRows = () => [];
    const api = await server((_, response) => sendJson(response, { ipos: rows, meta: { next: 'n' } }));
    const client = source(api.url, { limits: { bodyLimitBytes: 10_000_000 } });
    const read = await client.fetchPage(pagedBy(cursor), { ...page, readRows }, never);
    expect([read.rows.length, read.next]).toEqual([10, 'n']);
  });
});

describe('a link', () => {
  const path = '/api/v2.1/calendar/ipos';

  it.each([
    ['</x?after=2>; rel="next"', 'API/x?after=2'],
    ['<?page=2>; rel=next', `API${path}?page=2`],
    ['<other>;rel="next"', 'API/api/v2.1/calendar/other'],
    ['</a>; rel="prev", </b>; rel="next"; title="more, <c>; rel=\\"next\\""', 'API/b'],
    ['</a>; title="x, </c>; rel=next"; rel="prev", </b>; rel = "last NEXT"', 'API/b'],
    ['</a>; rel="last"; rel="next"', null],
    ['</a>; rel="nextpage"', null],
    ['</a?b,c;d>; param; rel="next"', 'API/a?b,c;d'],
    ['<>; rel="next"', null],
    ['</a>; rel="previous"; results="true", </b>; rel="next"; results="true"', 'API/b'],
    ['</a>; rel="previous"; results="true", </b>; rel="next"; results="false"; cursor="0:2:0"', null],
    ['nonsense', null],
    [undefined, null],
  ])('in the header is read from %s', async (link, expected) => {
    expect(await next(header, { ipos: [] }, link)).toBe(expected);
  });

  it('in the header may come in a line of its own', async () => {
    expect(await next(header, { ipos: [] }, ['</a>; rel="first"', '</b>; rel="next"'])).toBe('API/b');
  });

  it('is read from the body, also by a name with dots', async () => {
    expect(await next(inBody, { ipos: [], '@odata.nextLink': '/x?$skip=5' })).toBe('API/x?$skip=5');
    expect(await next({ style: 'link', from: 'links.next' }, { ipos: [], links: { next: '/y' } })).toBe(
      'API/y',
    );
    expect(await next(inBody, { ipos: [] }, '</z>; rel="next"')).toBeNull();
  });

  it('is followed as it is written, with our token and no other', async () => {
    const api = await server((_, response) => sendJson(response, { ipos: [] }));
    const continuation = `${api.url}/x?b=%7e,+1&token=theirs&a&tok%65n=again&token`;
    const ask = (of: PagingStyle, request: Partial<PageRequest>, auth = {}) =>
      source(api.url, auth).fetchPage(pagedBy(of), { ...page, ...request }, never);
    await ask(header, { continuation });
    await ask(header, { continuation: `${api.url}/y` });
    await ask(header, { continuation: `${api.url}/y?token=kept` }, { auth: { scheme: 'bearer' } });
    expect(api.requests.map(({ url }) => url)).toEqual([
      '/x?b=%7e,+1&a&token=MARK%2Bed%2Ftok%7Een+42',
      '/y?token=MARK%2Bed%2Ftok%7Een+42',
      '/y?token=kept',
    ]);
  });

  it('does not keep the token that the API repeats in it', async () => {
    const link = `</x?token=${encodeURIComponent(token)}&after=2>; rel="next"`;
    expect(await next(header, { ipos: [] }, link)).toBe('API/x?after=2');
  });

  it('to another origin is refused, and nothing is sent there', async () => {
    const other = await server((_, response) => sendJson(response, { ipos: [] }));
    const foreign = [
      `${other.url}/x?token=${encodeURIComponent(token)}`,
      '//127.0.0.1:1/x',
      'https://127.0.0.1/x',
      'javascript:x',
      'http://[',
    ];
    for (const link of foreign) {
      const api = await server((_, response) => sendJson(response, { ipos: [], next: link }));
      const client = source(api.url);
      const inBody: PagingStyle = { style: 'link', from: 'next' };
      for (const request of [page, { ...page, continuation: link }]) {
        const error = await failureOf(client.fetchPage(pagedBy(inBody), request, never));
        expect(error).toMatchObject({
          code: 'SOURCE_LINK_ELSEWHERE',
          message: expect.stringMatching(
            /a link to the next page at (\S+\/x|something that is not an address)\.$/,
          ),
        });
      }
      expect(api.requests).toHaveLength(1);
    }
    expect(other.requests).toEqual([]);
  });

  it('with a user before its host leaves that user out', async () => {
    const api = await server((_, response) => {
      const link = `<http://me:${'secret'}@${new URL(api.url).host}/x>; rel="next"`;
      sendJson(response, { ipos: [] }, 200, { link });
    });
    const read = await source(api.url).fetchPage(pagedBy(header), page, never);
    expect(read.next).toBe(`${api.url}/x`);
  });
});

it('no style asks for a page but those that number pages', async () => {
  const api = await server((_, response) => sendJson(response, { ipos: [] }));
  const client = source(api.url);
  for (const paging of [{ style: 'page' }, { style: 'offset' }, { style: 'none' }, header, cursor] as const)
    await client.fetchPage(pagedBy(paging), page, never);
  expect(api.requests.map((request) => queryOf(request).page)).toEqual([
    '2',
    '2',
    undefined,
    undefined,
    undefined,
  ]);
});

describe('a link to the page that was asked for', () => {
  const rows = (count: number) => ({ ipos: Array.from({ length: count }, (_, id) => ({ id })) });
  const place = '/ipos?b=x%20y&a%5B0%5D=1';

  async function nextOf(asked: Partial<PageRequest>, link: (url: string) => string, count = 1) {
    const api = await server(({ url }, response) =>
      sendJson(response, rows(count), 200, { link: `<${link(url ?? '')}>; rel="next"` }),
    );
    const continuation =
      asked.continuation === undefined ? {} : { continuation: api.url + asked.continuation };
    const read = await source(api.url).fetchPage(pagedBy(header), { ...page, ...continuation }, never);
    return read.next?.replace(api.url, '') ?? null;
  }

  it('is known again, however it is spelled', async () => {
    expect(await nextOf({ continuation: place }, () => '/ipos?a[0]=1&b=x+y')).toBe(place);
    expect(await nextOf({ continuation: place }, (url) => url)).toBe(place);
    expect(await nextOf({ continuation: place }, () => '/ipos?a[0]=2&b=x+y')).toBe('/ipos?a[0]=2&b=x+y');
  });

  it('is the end on a first page that is not full, and is kept on a full one', async () => {
    expect(await nextOf({}, (url) => url)).toBeNull();
    expect(await nextOf({}, (url) => url, page.pageSize)).toMatch(/^\/api\/v2.1\/calendar\/ipos\?/);
  });
});

describe('an answer without a body', () => {
  const asked = (status: number) => server((_, response) => void response.writeHead(status).end());

  it('with 304 is an empty page only if the feed has a filter', async () => {
    const api = await asked(304);
    const read = (request: PageRequest, definition: FeedDefinition = feed) =>
      source(api.url).fetchPage(definition, request, never);
    for (const updatedSince of [page.updatedSince, 0])
      expect(await read({ ...page, updatedSince })).toMatchObject({ rows: [], isVague: true });
    const whole = { ...feed, parameters: { ...feed.parameters, updatedSince: null } };
    expect(await failureOf(read(page, whole))).toMatchObject({ code: 'SOURCE_UNEXPECTED_STATUS' });
  });
});

describe('a counted page', () => {
  const said = async (paging: PagingStyle, body: unknown) => {
    const api = await server((_, response) => sendJson(response, body));
    const { isLast, total } = await source(api.url).fetchPage(pagedBy(paging), page, never);
    return [isLast, total];
  };

  it.each(['page', 'offset'] as const)(
    'of style %s says whether it is the last, and how many rows there are',
    async (style) => {
      const paging: PagingStyle = { style, hasMore: 'meta.more', total: 'meta.total' };
      expect(await said(paging, { ipos: [], meta: { more: false, total: 12 } })).toEqual([true, 12]);
      expect(await said(paging, { ipos: [], meta: { more: true, total: '12' } })).toEqual([false, 12]);
      expect(await said(paging, { ipos: [], meta: { more: null, total: -1 } })).toEqual([undefined, null]);
      expect(await said(paging, { ipos: [], meta: { total: 1.5 } })).toEqual([undefined, null]);
      expect(await said(paging, { ipos: [] })).toEqual([undefined, null]);
      expect(await said({ style }, { ipos: [], meta: { more: false } })).toEqual([undefined, undefined]);
    },
  );
});

describe('a link to another host whose path is to be followed', () => {
  const paging: PagingStyle = { style: 'link', from: 'next', followPath: true };

  it.each([
    ['another host', 'http://internal:8080/v2/things?after=2&x=%20', 'API/v2/things?after=2&x=%20'],
    ['another scheme', 'https://internal/v2/things', 'API/v2/things'],
    ['no scheme', '//internal//evil/things', 'API//evil/things'],
    ['its own host', '/v2/things', 'API/v2/things'],
  ])('leads to the own address: %s', async (_, link, expected) => {
    expect(await next(paging, { ipos: [], next: link })).toBe(expected);
  });

  it('is still an address', async () => {
    const api = await server((_, response) => sendJson(response, { ipos: [], next: 'ftp://internal/a' }));
    const client = source(api.url, { limits: { retry: { attempts: 1 } } });
    const error = await failureOf(client.fetchPage(pagedBy(paging), page, never));
    expect(error).toMatchObject({ code: 'SOURCE_LINK_ELSEWHERE' });
  });

  it('in the header, too, and the token goes to the own host only', async () => {
    const header: PagingStyle = { style: 'link', from: null, followPath: true };
    const link = '<http://internal/v2/things?page=2>; rel="next"';
    expect(await next(header, { ipos: [] }, link)).toBe('API/v2/things?page=2');
    const asked: string[] = [];
    const api = await server(({ url = '' }, response) => {
      asked.push(url.split('token=')[0]!);
      sendJson(response, { ipos: [] });
    });
    await source(api.url).fetchPage(
      pagedBy(header),
      { ...page, continuation: 'http://internal/v2/things?page=2' },
      never,
    );
    expect(asked).toEqual(['/v2/things?page=2&']);
  });
});
