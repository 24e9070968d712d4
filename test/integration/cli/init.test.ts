import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { parse } from 'yaml';
import { type ApiServer, type ApiShape, startApi } from '../../support/apis/api-server';
import { brevo, clickup, github, stripe, zendesk } from '../../support/apis/shapes';
import { commandsHere } from '../../support/cli';
import { endsWithTest } from '../../support/ends';
import { sendJson, startHttpServer } from '../../support/http-server';
import { namedRows } from '../../support/named-rows';

const { folder, file, here, done } = commandsHere();
let server: ApiServer | null;

beforeEach(() => {
  server = null;
});

async function serve(...[shape, options]: Parameters<typeof startApi>): Promise<ApiServer> {
  const started = await startApi(shape, options);
  endsWithTest(() => started.stop());
  return started;
}

async function init(shape: ApiShape, args: readonly string[], query = '') {
  server ??= await serve(shape, { rows: 250 });
  const url = `${server.url}${shape.path}${query}`;
  return done(['init', url, ...args], { SHOP_TOKEN: shape.token });
}

const bearer = ['--auth', 'bearer', '--token-env', 'SHOP_TOKEN'];
const feeds = () => parse(readFileSync(file('highwater.yaml'), 'utf8')).feeds;

it.each([
  {
    shape: zendesk,
    query: '?start_time=0',
    args: ['--auth', 'bearer', '--name', 'tickets'],
    feed: {
      auth: { scheme: 'bearer', tokenEnv: 'SHOP_TOKEN' },
      responseKey: 'tickets',
      parameters: { pageSize: 'per_page', updatedSince: 'start_time' },
      paging: { style: 'cursor', parameter: 'cursor', from: 'after_cursor' },
      display: { title: 'subject' },
    },
  },
  {
    shape: github,
    query: '?state=all&sort=updated&direction=asc',
    args: ['--auth', 'bearer', '--id', 'number'],
    feed: {
      responseKey: '',
      idField: 'number',
      updatedField: 'updated_at',
      updatedFormat: 'iso8601',
      query: { state: 'all', sort: 'updated', direction: 'asc' },
      parameters: { pageSize: 'per_page', updatedSince: 'since' },
      paging: { style: 'link' },
      display: { title: 'title' },
    },
  },
  {
    shape: brevo,
    query: '?sort=asc',
    args: ['--auth', 'header:api-key'],
    feed: {
      auth: { scheme: 'header', name: 'api-key', tokenEnv: 'SHOP_TOKEN' },
      responseKey: 'contacts',
      updatedField: 'modifiedAt',
      parameters: { page: 'offset', pageSize: 'limit', updatedSince: 'modifiedSince' },
      paging: { style: 'offset' },
      pageSize: 1000,
    },
  },
  {
    shape: clickup,
    query: '?order_by=updated&reverse=true',
    args: ['--auth', 'header:authorization'],
    feed: {
      responseKey: 'tasks',
      updatedField: 'date_updated',
      updatedFormat: 'milliseconds',
      parameters: { page: 'page', pageSize: null, updatedSince: 'date_updated_gt' },
      paging: { style: 'page' },
    },
  },
  {
    shape: stripe,
    query: '',
    args: ['--auth', 'bearer', '--updated', 'updated'],
    feed: {
      responseKey: 'data',
      parameters: { pageSize: 'limit', updatedSince: null },
      paging: { style: 'cursor', parameter: 'starting_after', lastRow: 'id', hasMore: 'has_more' },
      pageSize: 100,
    },
  },
])('finds out how the API in the shape of $shape.name is read, and shows events', async (each) => {
  const { code, out, err } = await init(each.shape, [...each.args, '--token-env', 'SHOP_TOKEN'], each.query);

  expect({ code, err: err.replace(/^Reading .*\n/, '') }).toEqual({ code: 0, err: '' });
  const [written] = Object.values(feeds());
  expect(written).toMatchObject(each.feed);
  expect(out).toContain('Its first events:');
  expect(out.match(/^ {2}\d\d:\d\d:\d\d/gm)?.length).toBe(5);
  expect(out + JSON.stringify(written)).not.toContain(each.shape.token);
});

it('refuses an endpoint that has more rows than a page and no paging that it knows', async () => {
  const asked = (query: URLSearchParams) =>
    stripe.ask(new URLSearchParams([['limit', query.get('limit') ?? '10']]), undefined);
  const { code, err } = await init({ ...stripe, ask: asked }, bearer);
  expect(code).toBe(1);
  expect(err).toContain(
    'no way to the next page was found. What says so: 100 rows came, as many as were asked for, has_more: true',
  );
  expect(err).toMatch(/do: .*docs\/adding-a-feed\.md/);
  expect(readdirSync(folder())).toEqual([]);
});

describe('an endpoint of tasks', () => {
  const begin = Math.floor(Date.now() / 1000) - 9_000;
  const tasks = Array.from({ length: 130 }, (_, i) => ({
    id: `t${i}`,
    name: `n${i}`,
    updated: begin + i * 20,
  }));
  type Tasks = typeof tasks;

  type AnswerTo = (
    query: URLSearchParams,
  ) => readonly object[] | { readonly tasks: readonly object[] } | null;
  async function initTasks(answer: AnswerTo, ...args: string[]) {
    const { url, stop } = await startHttpServer((request, response) => {
      const found = answer(new URL(request.url!, 'http://host').searchParams);
      const body = Array.isArray(found) ? { tasks: found } : found;
      sendJson(response, body ?? { message: 'too old' }, body === null ? 400 : 200);
    });
    endsWithTest(stop);
    const [query = '', ...flags] = args[0]?.startsWith('?') ? args : ['', ...args];
    return done(['init', `${url}/tasks${query}`, ...flags]);
  }
  const pageOf = (rows: Tasks, query: URLSearchParams) => {
    const page = Math.max(1, Number(query.get('page') ?? 1));
    return rows.slice((page - 1) * 50, page * 50);
  };
  const since = (query: URLSearchParams) => Number(query.get('since') ?? 0);
  const filtered = (query: URLSearchParams) => tasks.filter((row) => row.updated >= since(query));

  it('whose rows have a member that moves by itself, which is named, and not ignored unasked', async () => {
    let views = 0;
    const { code, out } = await initTasks((query) => {
      return pageOf(filtered(query), query).map((row) => ({ ...row, views: ++views, meta: { seen: true } }));
    });
    expect(code).toBe(0);
    expect(out).toMatch(/^ {2}silent +views: moved, and updated did not$/m);
    expect(feeds().tasks).not.toHaveProperty('ignore');
    expect(readFileSync(file('highwater.yaml'), 'utf8')).toContain('ignore: [views]');
  });

  describe('of two kinds, each with ids of its own, the second behind the first page,', () => {
    const ofKinds = (kind: string) => (query: URLSearchParams) => {
      const from = Number(query.get('offset') ?? 0);
      const both = tasks.map((row, i) => ({
        ...row,
        id: 1 + (i % 65),
        [kind]: i < 65 ? 'person' : 'company',
      }));
      return both.slice(from, from + Number(query.get('limit') ?? 50));
    };

    it('is keyed by kind and id', async () => {
      const { code, out } = await initTasks(ofKinds('type'));
      expect(code).toBe(0);
      expect(out).toMatch(/^ {2}id +type, id$/m);
      expect(out).not.toMatch(/^ {2}silent/m);
      expect(feeds().tasks).toMatchObject({ idField: ['type', 'id'], paging: { style: 'offset' } });
      const all = await done(['run', '--once']).then(() => done(['export', 'tasks']));
      expect(all.out.trim().split('\n').length).toBe(130);
    });

    it('is refused if no member has the name of a kind, until a flag names the members', async () => {
      const { code, err } = await initTasks(ofKinds('shape'));
      expect([code, err]).toEqual([
        2,
        expect.stringContaining('id is the same in several rows of one answer'),
      ]);
      expect(err).toContain('--id type,id');
      expect(readdirSync(folder())).toEqual([]);

      expect((await initTasks(ofKinds('shape'), '--id', 'shape, id')).code).toBe(0);
      expect(feeds().tasks.idField).toEqual(['shape', 'id']);
    });
  });

  it.each([
    ['one row', 1, []],
    ['two rows', 2, []],
    ['one row, and whose parameters a flag names', 1, ['--size', 'limit', '--page', 'skip']],
    ['all rows of a list of one, whose size a flag names', 1, ['--size', 'limit'], 1],
    ['one row, and at most 10', 1, [], tasks.length, 10],
  ])('that by default gives %s', async (_, byDefault, args, length = tasks.length, most = 1_000) => {
    const { code, out } = await initTasks(
      (query) => {
        if (Number(query.get('limit')) > most) return null;
        const from = Number(query.get('skip') ?? 0);
        const rows = filtered(query).slice(0, length);
        const page = rows.slice(from, from + Number(query.get('limit') ?? byDefault));
        return { meta: { total: rows.length }, tasks: page };
      },
      ...args,
    );
    expect(code).toBe(0);
    expect(feeds().tasks).toMatchObject({ parameters: { pageSize: 'limit' }, pageSize: most });
    if (most > 10) expect(out).toContain(`${length} rows`);
    if (length > 1) expect(feeds().tasks.parameters).toMatchObject({ page: 'skip', updatedSince: 'since' });
  });

  it.each([
    [
      'an id of MongoDB is keyed by it',
      (row: object, i: number) => ({ _id: { $oid: `o${i}` }, ...row }),
      '_id.$oid',
      false,
    ],
    ['no member with the name of an id: says that the id is a guess', (row: object) => row, 'name', true],
  ])('whose rows have %s', async (_, changed, idField, isGuess) => {
    const { code, out } = await initTasks((query) =>
      pageOf(filtered(query), query).map(({ id, ...row }) => changed(row, Number(id.slice(1)))),
    );
    expect(code).toBe(0);
    expect(feeds().tasks.idField).toBe(idField);
    expect(/^ {2}id .*guess.*--id/m.test(out)).toBe(isGuess);
    const all = await done(['run', '--once']).then(() => done(['export', 'tasks']));
    expect(all.out.trim().split('\n').length).toBe(130);
  });

  it('whose filter writes times in another way than rows: finds out how, if a flag names it', async () => {
    const byDay = (query: URLSearchParams) => {
      const after = Date.parse(query.get('changed') ?? '1970-01-01T00:00:00Z') / 1000;
      return Number.isNaN(after)
        ? null
        : pageOf(
            tasks.filter((row) => row.updated >= after),
            query,
          );
    };
    const { code, out } = await initTasks(byDay, '--since', 'changed');
    expect(code).toBe(0);
    expect(out).toContain('changed (iso8601)');
    expect(feeds().tasks).toMatchObject({
      updatedFormat: 'seconds',
      updatedSinceFormat: 'iso8601',
      parameters: { updatedSince: 'changed' },
    });
  });

  it('whose time of the update cannot be read: says so, and that another one is taken', async () => {
    const { code, out } = await initTasks((query) =>
      pageOf(tasks, query).map(({ updated, ...row }) => ({
        ...row,
        created_at: updated,
        updated_at: { $date: updated },
        updated_by: 'x',
      })),
    );
    expect(code).toBe(0);
    expect(out).toContain('updated_at is not a time that can be read in every row, so created_at is taken');
    expect(out).not.toContain('updated_by');
    expect(feeds().tasks.updatedField).toBe('created_at');
  });

  it('whose rows have no time is asked for by name, and polled whole', async () => {
    const timeless = (query: URLSearchParams) => pageOf(tasks, query).map(({ id, name }) => ({ id, name }));
    const refused = await initTasks(timeless);
    expect(refused.code).toBe(2);
    expect(refused.err).toContain('--updated ""');

    const { code, out } = await initTasks(timeless, '--updated', '');
    expect(code).toBe(0);
    expect(out).toContain('every poll reads and compares everything');
    expect(out).toMatch(/Its first events:\n.*n0/s);
    const { tasks: feed } = feeds();
    expect(feed).toMatchObject({ idField: 'id', updatedField: null, paging: { style: 'page', first: 1 } });
    expect(feed).not.toHaveProperty('updatedFormat');
    expect(feed.parameters).toEqual({ page: 'page', pageSize: null, updatedSince: null });
  });

  it('by a copied link whose range of time has an end: refuses, because no later row would ever come', async () => {
    const link = (query: string) => initTasks((asked) => pageOf(tasks, asked), query);
    const { code, err } = await link('?end_date=2026-11-29');
    expect(code).toBe(2);
    expect(err).toContain('end_date=2026-11-29 ends the range of time');
    expect(readdirSync(folder())).toEqual([]);

    const { out } = await link('?start_date=2020-01-01');
    expect(out).toContain('start_date=2020-01-01: ');
    expect(feeds().tasks.query).toEqual({ start_date: '2020-01-01' });
  });

  it.each<[string, (query: URLSearchParams) => Tasks, string, string | null]>([
    [
      'its own second: says so, and writes the feed',
      (query) => tasks.filter((row) => row.updated > since(query)),
      'of the very time that is asked for; polls learn how much earlier',
      'since',
    ],
    [
      'more than it should is read without it',
      (query) => (query.has('since') ? filtered(query).filter(({ id }) => Number(id.slice(1)) > 49) : tasks),
      'that were updated later than the time that is asked for, so it is not used',
      null,
    ],
  ])('whose filter leaves out %s', async (_, rows, said, updatedSince) => {
    const { code, out } = await initTasks((query) => pageOf(rows(query), query));
    expect(code).toBe(0);
    expect(out).toContain(`since leaves out rows ${said}`);
    expect(feeds().tasks.parameters.updatedSince).toBe(updatedSince);
  });

  it('that shows nothing to a poll: says so, exits 1, and writes nothing', async () => {
    const { code, out, err } = await initTasks((query) =>
      pageOf(query.get('since') === '0' ? [] : filtered(query), query),
    );
    expect(code).toBe(1);
    expect(err).toContain('The trial poll of tasks published no record: the API answered it with no row');
    expect(err).toContain('Nothing was written.');
    expect(out).not.toContain('Publish it');
    expect(readdirSync(folder())).toEqual([]);
  });

  it('that refuses a poll: says what it answered, exits 1, and writes nothing', async () => {
    const { code, err } = await initTasks((query) =>
      query.get('since') === '0' ? null : pageOf(filtered(query), query),
    );
    expect(code).toBe(1);
    expect(err).toContain('The trial poll of tasks failed: tasks: GET ');
    expect(readdirSync(folder())).toEqual([]);
  });
});

describe('an endpoint that gives 100 of 250 rows', () => {
  const all = Array.from({ length: 250 }, (_, i) => ({
    id: `r${i}`,
    name: `n${i}`,
    updated: 1_769_851_800 + i,
  }));
  /** What stands beside the rows of a page, before the row with a number. */
  type Beside = (next: number, own: string, asked: URL) => object;

  async function initAt(
    beside: Beside,
    nextOf: (url: URL) => string | null,
    {
      then = [],
      args = [],
      rows = all,
      query = '',
      ...api
    }: {
      readonly then?: readonly string[][];
      readonly args?: readonly string[];
      readonly query?: string;
      readonly rows?: readonly object[];
      /** Its parameter for the size, which is lowered to 100 without a word. */
      readonly size?: string;
      readonly headers?: Readonly<Record<string, string>>;
    } = {},
  ) {
    const { url, requests, stop } = await startHttpServer((request, response) => {
      const asked = new URL(request.url!, 'http://host');
      const from = Number(nextOf(asked) ?? 0);
      const next = from + Math.min(100, Number(asked.searchParams.get(api.size ?? '') ?? 100));
      const isMore = next < rows.length;
      const more = isMore ? beside(next, `http://${request.headers.host}`, asked) : {};
      if (isMore)
        for (const [name, value] of Object.entries(api.headers ?? {})) response.setHeader(name, value);
      sendJson(response, { ...more, orders: rows.slice(from, next) });
    });
    endsWithTest(stop);
    const first = await done(['init', `${url}/v1/orders${query}`, '--no-events', ...args]);
    const others = [];
    for (const line of then) others.push(await done(line));
    return { ...first, others, requests };
  }
  const skipped = (url: URL) => url.searchParams.get('$skiptoken');

  it.each(
    namedRows<[Beside, (url: URL) => string | null, object]>({
      'a token at the name of a position': [
        (n) => ({ next_offset: `at${n}` }),
        (url) => url.searchParams.get('offset')?.slice(2) ?? null,
        { style: 'cursor', parameter: 'offset', from: 'next_offset' },
      ],
      OData: [
        (n, own) => ({ '@odata.nextLink': `${own}/v1/orders?$skiptoken=${n}` }),
        skipped,
        { style: 'link', from: '@odata.nextLink' },
      ],
      Salesforce: [
        (n) => ({ done: false, totalSize: 250, nextRecordsUrl: `/v1/orders/01g-${n}` }),
        (url) => /-(\d+)$/.exec(url.pathname)?.[1] ?? null,
        { style: 'link', from: 'nextRecordsUrl' },
      ],
      'HAL behind another host': [
        (n) => ({ _links: { next: { href: `https://inside:8443/v1/orders?$skiptoken=${n}` } } }),
        skipped,
        { style: 'link', from: '_links.next.href', followPath: true },
      ],
      Airtable: [
        (n) => ({ offset: `itrX/${n}` }),
        (url) => /^itrX\/(\d+)$/.exec(url.searchParams.get('offset') ?? '')?.[1] ?? null,
        { style: 'cursor', parameter: 'offset', from: 'offset' },
      ],
      Kubernetes: [
        (n) => ({ metadata: { continue: `${n}`, remainingItemCount: 250 - n } }),
        (url) => url.searchParams.get('continue'),
        { style: 'cursor', parameter: 'continue', from: 'metadata.continue' },
      ],
      'a scroll': [
        (n) => ({ scrollId: `${n}` }),
        (url) => url.searchParams.get('scrollId'),
        { style: 'cursor', parameter: 'scrollId', from: 'scrollId' },
      ],
    }),
  )('in the way of %s: all of them are published', async (_, beside, nextOf, paging) => {
    const then = [
      ['run', '--once'],
      ['tail', 'orders', '--from-beginning', '--no-follow'],
    ];
    const { code, others, requests } = await initAt(beside, nextOf, { then, size: 'pageSize' });
    expect(code).toBe(0);
    expect(feeds().orders.paging).toEqual(paging);
    expect(others[0]!.code).toBe(0);
    expect(others[1]!.out.trim().split('\n').length).toBe(250);
    expect(requests.every(({ headers }) => headers.host?.startsWith('127.0.0.1'))).toBe(true);
  });

  it.each<[string, string, string, object]>([
    ['which the address says', 'mark', '?mark=*', { start: '*' }],
    ['which the address does not say', 'cursorMark', '', { start: '*' }],
    ['but is empty', 'mark', '?mark=', { start: '' }],
    ['and takes another one, too', 'mark', '?mark=0', { start: '0' }],
  ])('to requests that begin with *, %s: all of them are published', async (_, parameter, query, start) => {
    const mark = ({ searchParams }: URL) => searchParams.get(parameter);
    const beside: Beside = (n, _, asked) =>
      mark(asked) === null ? { total: 250 } : { nextCursorMark: `${n}` };
    const nextOf = (asked: URL) => mark(asked)?.replace('*', '0') ?? null;
    const then = [
      ['run', '--once'],
      ['export', 'orders'],
    ];
    const { code, others } = await initAt(beside, nextOf, { then, query, args: ['--cursor', parameter] });
    expect(code).toBe(0);
    const from = 'nextCursorMark';
    expect(feeds().orders.paging).toEqual({ style: 'cursor', parameter, from, ...start });
    expect(feeds().orders).not.toHaveProperty('query');
    expect(others[1]!.out.trim().split('\n').length).toBe(250);
  });

  it('and a copied address begins in the middle of them: all of them are published', async () => {
    const nextOf = (asked: URL) => asked.searchParams.get('after');
    const { code } = await initAt((n) => ({ after: `${n}` }), nextOf, { query: '?after=20' });
    expect(code).toBe(0);
    expect(feeds().orders.paging).toEqual({ style: 'cursor', parameter: 'after', from: 'after' });
  });

  it.each<[string, Beside, string]>([
    ['a total', () => ({ total: 250 }), 'total: 250'],
    ['a flag', () => ({ meta: { hasNextPage: true } }), 'meta.hasNextPage: true'],
    ['a dead link', () => ({ nextLink: 'https://elsewhere/lost' }), 'nextLink holds an address'],
    [
      'links in a list',
      () => ({ links: [{ rel: 'next', href: '/x' }] }),
      'links has a link to the next page',
    ],
  ])('and says so only by %s: refuses, and writes nothing', async (_, beside, said) => {
    const { code, err } = await initAt(beside, () => null);
    expect(code).toBe(1);
    expect(err).toContain(
      `There are more than the 100 rows of one answer, and no way to the next page was found. What says so: ${said}.`,
    );
    expect(err).toMatch(/now: {2}Nothing was written\.[\s\S]*do: {3}.*--cursor.*docs\/adding-a-feed\.md/);
    expect(readdirSync(folder())).toEqual([]);
  });

  it.each(['X-Next-Page', 'X-Next-Cursor'])('and says so only by the header %s: refuses', async (header) => {
    const { code, err } = await initAt(
      () => ({}),
      () => null,
      { headers: { [header]: '2' } },
    );
    expect([code, err]).toEqual([1, expect.stringContaining(`the header ${header.toLowerCase()} `)]);
    expect(readdirSync(folder())).toEqual([]);
  });

  const nothing = [() => ({}), () => null] as const;
  const isAll = ['--page', '', '--cursor', ''];

  it('and says nothing, but gives no more than a round number however many are asked for: refuses', async () => {
    const { code, err } = await initAt(...nothing, { size: 'limit' });
    expect(code).toBe(1);
    expect(err).toContain('limit=1000 gives 100 rows, a number that pages often have');
    expect(err).toContain('--page "" --cursor ""');
    expect(readdirSync(folder())).toEqual([]);

    const told = await initAt(...nothing, { size: 'limit', args: isAll, rows: all.slice(0, 100) });
    expect(told.code).toBe(0);
    expect(feeds().orders.paging).toEqual({ style: 'none' });
  });

  it('nor knows a size, and gives 100 rows: refuses, unless the user says that these are all', async () => {
    const { code, err } = await initAt(...nothing);
    expect([code, err]).toEqual([1, expect.stringContaining('100 rows are a number that pages often have')]);
    const told = await initAt(...nothing, { args: isAll });
    expect([told.code, told.out]).toEqual([0, expect.stringContaining('there may be more rows')]);
  });

  it('or less than a page of another number: takes them for all', async () => {
    const { code, out } = await initAt(...nothing, { size: 'limit', rows: all.slice(0, 97) });
    expect(code).toBe(0);
    expect(out).toContain('none found: the 97 rows of one answer are taken for all');
  });

  it('and holds what may be a cursor that leads nowhere: refuses, unless the user says that there is none', async () => {
    const beside = () => ({ cursor: 'x' });
    const { code, err } = await initAt(beside, () => null);
    expect([code, err]).toEqual([1, expect.stringContaining('cursor holds a value')]);
    const told = await initAt(beside, () => null, { args: isAll });
    expect(told.code).toBe(0);
    expect(told.out).toContain('cursor holds a value: there may be more rows');
  });

  it('and may mean it by a count: names it, and states nothing as a fact', async () => {
    const { code, out } = await initAt(
      () => ({ count: 250 }),
      () => null,
      { args: isAll },
    );
    expect(code).toBe(0);
    expect(feeds().orders.paging).toEqual({ style: 'none' });
    expect(out).toMatch(
      /^ {2}paging +none found: the 100 rows of one answer may be only a part\n +count: 250: /m,
    );
    expect(out).toContain('100 rows are a number that pages often have: there may be more rows');
    expect(readFileSync(file('highwater.yaml'), 'utf8')).toContain('# may leave rows out: count: 250');
  });
});

it.each([
  ['found', []],
  ['named', ['--updated', 'fields.updated']],
])('a time within another member is %s, and its feed reads', async (_, args) => {
  const begin = Date.now() - 90_000_000;
  const issues = Array.from({ length: 12 }, (_, i) => ({
    id: `i${i}`,
    fields: { updated: new Date(begin + i * 60_000).toISOString(), summary: `n${i}` },
  }));
  const { url, stop } = await startHttpServer((request, response) => {
    const since = Date.parse(
      new URL(request.url!, 'http://host').searchParams.get('updated_since') ?? '1970-01-01',
    );
    sendJson(response, { issues: issues.filter(({ fields }) => Date.parse(fields.updated) >= since) });
  });
  endsWithTest(stop);
  const { code, err } = await done(['init', `${url}/issues`, '--size', '', '--page', '', ...args]);
  expect({ code, err: err.replace(/^Reading .*\n/, '') }).toEqual({ code: 0, err: '' });
  expect(feeds().issues).toMatchObject({
    updatedField: 'fields.updated',
    updatedFormat: 'iso8601',
    parameters: { updatedSince: 'updated_since' },
  });
  expect((await done(['run', '--once'])).code).toBe(0);
});

describe('a shop with numbers as ids, a limit of requests, and members without a value', () => {
  const begin = Date.now() - 90_000_000;
  const orders = Array.from({ length: 60 }, (_, i) => ({
    id: 5_400_000_000_000 + i * 7,
    title: `Order ${i}`,
    status: 'open',
    total: 10 + i,
    note: null,
    tags: [],
    updated_at: new Date(begin + i * 60_000).toISOString(),
  }));

  async function initOrders({ refusesAt = -1 } = {}) {
    const times: number[] = [];
    const { url, stop } = await startHttpServer((request, response) => {
      times.push(performance.now());
      response.setHeader('x-ratelimit-limit', '500');
      response.setHeader('x-ratelimit-reset', '60');
      if (times.length === refusesAt) {
        response.setHeader('retry-after', '0');
        sendJson(response, { message: 'slow down' }, 429);
        return;
      }
      const query = new URL(request.url!, 'http://host').searchParams;
      const since = Date.parse(query.get('updated_since') ?? '1970-01-01');
      const found = orders.filter((row) => Date.parse(row.updated_at) >= since);
      const [size, page] = [Number(query.get('limit') ?? 20), Number(query.get('page') ?? 1)];
      sendJson(response, { orders: found.slice((page - 1) * size, page * size) });
    });
    endsWithTest(stop);
    const first = await done(['init', `${url}/v1/order-lines.json`]);
    const asked = [...times];
    return { ...first, asked, run: await done(['run', '--once']) };
  }

  it('writes a file that `highwater run` takes as it is', async () => {
    const { code, out, run } = await initOrders();
    expect(code).toBe(0);
    expect(out).toContain('limit    x-ratelimit-limit: 500, x-ratelimit-reset: 60 (requestsPerSecond: 8)');
    expect(out).toMatch(/^Publish it: {2}npx highwater run$/m);
    const { feeds: written, ...settings } = parse(readFileSync(file('highwater.yaml'), 'utf8'));
    expect(settings).toEqual({ enabledFeeds: 'order_lines', requestsPerSecond: 8 });
    expect(written.order_lines).toMatchObject({
      idField: 'id',
      display: { title: 'title' },
    });
    const schema = JSON.parse(readFileSync(file('order_lines.avsc'), 'utf8'));
    expect(schema.namespace).toBe('order_lines');
    expect(run.code).toBe(0);
    // Members without a value were left out, and are no news.
    expect(run.err).not.toContain('which the schema does not have');
  });

  it('gets at most ten requests a second, also from the trial poll', async () => {
    const { asked } = await initOrders();
    // Less one pause for what the way takes.
    expect(asked.at(-1)! - asked[0]!).toBeGreaterThan((asked.length - 2) * 100);
  });

  it('is asked again when it refuses a request for the limit', async () => {
    const { code, err } = await initOrders({ refusesAt: 4 });
    expect(code).toBe(0);
    expect(err).toContain('429 with');
    expect(feeds().order_lines.parameters).toEqual({
      page: 'page',
      pageSize: 'limit',
      updatedSince: 'updated_since',
    });
  });

  it('joins the feeds that a file names', async () => {
    const settings = file('highwater.yaml');
    writeFileSync(settings, 'enabledFeeds: [ipos]\napiUrl: http://127.0.0.1:9\n');
    const { code, out } = await initOrders();
    expect(code).toBe(0);
    expect(out).toContain('npx highwater run --feeds order_lines');
    expect(parse(readFileSync(settings, 'utf8'))).toMatchObject({ enabledFeeds: ['ipos', 'order_lines'] });
    expect(readFileSync(settings, 'utf8')).not.toContain('requestsPerSecond');
  });
});

it('keeps what stands in the file, and replaces a feed only when that is said', async () => {
  const settings = file('highwater.yaml');
  const args = [...bearer, '--no-events'];
  writeFileSync(settings, '# ours\npollInterval: 30s # short\n');
  await init(zendesk, args, '?start_time=0');
  const text = readFileSync(settings, 'utf8');
  expect(text).toContain('# ours\npollInterval: 30s # short\n');

  const again = await init(zendesk, args, '?start_time=0');
  expect(again).toMatchObject({ code: 2, err: expect.stringContaining('--force') });
  expect(readFileSync(settings, 'utf8')).toBe(text);
  expect((await init(zendesk, [...args, '--force'], '?start_time=0')).code).toBe(0);
});

it('names the flag that decides what is not clear', async () => {
  const { code, err } = await init(github, [...bearer, '--id', 'state']);
  expect(code).toBe(2);
  expect(err).toContain('"state" is not one');
  expect(err).toContain('--id MEMBER');
});

it('says what the API answers when the token is wrong, without the token', async () => {
  server = await serve(zendesk);
  const wrong = { ...zendesk, token: 'wrong-token-4712' };
  const { code, err } = await init(wrong, bearer);
  expect(code).not.toBe(0);
  expect(err).toMatch(/401.*--auth.*--token-env/s);
  expect(err).not.toContain('wrong-token-4712');
});

it.each([
  [400, 'SOURCE_REQUEST_REFUSED'],
  [404, 'SOURCE_NOT_FOUND'],
])('says that it asks by GET when an endpoint answers %d', async (status, named) => {
  const posts = await startHttpServer((_, response) =>
    sendJson(response, { message: 'Invalid request URL.' }, status),
  );
  endsWithTest(posts.stop);
  const { code, err } = await done(['init', `${posts.url}/search`]);
  expect(code).toBe(1);
  expect(err).toMatch(new RegExp(`${named}.*Invalid request URL.*Nothing was .*written.*POST`, 's'));
  expect(err).not.toContain('next poll');
});

it('ends in order when it is interrupted, and writes nothing', async () => {
  const silent = await startHttpServer(() => undefined);
  endsWithTest(silent.stop);
  const started = here(['init', `${silent.url}/orders`]);
  await started.sees(/Reading/, 'stderr');
  expect((await started.stop('SIGINT')).code).toBe(130);
  expect(started.stderr()).toContain('Interrupted: nothing was written.');
  expect(started.stderr()).not.toContain('a fault in highwater');
  expect(readdirSync(folder())).toEqual([]);
});

it('leaves nothing behind when the settings that it wrote do not load', async () => {
  writeFileSync(file('highwater.yaml'), 'pollInterval: soon\n');
  const { code, err } = await init(github, bearer);
  expect([code, err]).toEqual([2, expect.stringContaining('pollInterval')]);
  expect(readdirSync(folder())).toEqual(['highwater.yaml']);
  expect(readFileSync(file('highwater.yaml'), 'utf8')).toBe('pollInterval: soon\n');
});

it.each([
  ['not an address', [], 'is not the address of an endpoint'],
  ['ftp://example.com/x', [], 'is not the address of an endpoint'],
  ['http://example.com/x', ['--name', '../x'], 'cannot be the name of a feed'],
  ['http://example.com/ipos', [], 'is a feed that comes with highwater'],
  ['http://example.com/x?api_key=sesame', [], 'api_key carries a secret'],
  ['http://example.com/x?Key=sesame_4711_sesame_4711', [], 'Key carries a secret'],
  ['http://example.com/x?tag=a&tag=b', [], 'the address has the parameter tag more than once'],
  ['http://example.com/x', ['--header', 'Authorization: Bearer sesame'], 'Authorization carries a secret'],
  ['http://example.com/x', ['--auth', 'magic'], '"magic" is not a way to carry a token'],
])('refuses %j %j', async (url, flags, message) => {
  const { code, err } = await done(['init', url, ...flags]);
  expect([code, err]).toEqual([2, expect.stringContaining(message)]);
  expect(err).not.toContain('sesame');
});
