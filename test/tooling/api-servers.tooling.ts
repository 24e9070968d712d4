import { type ApiOptions, type ApiServer, type ApiShape, startApi } from '../support/apis/api-server';
import type { Row } from '../support/apis/api-store';
import type { Hostility } from '../support/apis/hostility';
import { brevo, clickup, github, plain, zendesk } from '../support/apis/shapes';
import { until } from '../support/until';

// biome-ignore lint/suspicious/noExplicitAny: bodies of several vendors
type Body = any;

/** Reads the endpoint as the vendor's reference describes it. */
interface Reader {
  readonly shape: ApiShape;
  readonly headers: Readonly<Record<string, string>>;
  query(limit: number, sinceMs: number): Readonly<Record<string, string>>;
  rowsOf(body: Body): readonly Row[];
  /** Query of the next page, null at the end. */
  next(body: Body, answer: Response, query: URLSearchParams): Readonly<Record<string, string>> | null;
  secondsOf(row: Row): number;
}

const iso = (ms: number): string => new Date(ms).toISOString();

const readers: readonly Reader[] = [
  {
    shape: zendesk,
    headers: { authorization: `Bearer ${zendesk.token}` },
    query: (limit, sinceMs) => ({ per_page: `${limit}`, start_time: `${Math.floor(sinceMs / 1000)}` }),
    rowsOf: ({ tickets }) => tickets,
    next: ({ end_of_stream, after_cursor }) => (end_of_stream ? null : { cursor: after_cursor }),
    secondsOf: ({ generated_timestamp: at }) => at as number,
  },
  {
    shape: github,
    headers: { authorization: `Bearer ${github.token}` },
    query: (limit, sinceMs) => ({
      per_page: `${limit}`,
      since: iso(sinceMs),
      sort: 'updated',
      direction: 'asc',
    }),
    rowsOf: (body) => body,
    next(_, { headers }) {
      const link = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '');
      return link === null ? null : Object.fromEntries(new URL(link[1]!).searchParams);
    },
    secondsOf: ({ updated_at: at }) => Date.parse(at as string) / 1000,
  },
  {
    shape: brevo,
    headers: { 'api-key': brevo.token },
    query: (limit, sinceMs) => ({ limit: `${limit}`, modifiedSince: iso(sinceMs), sort: 'asc', offset: '0' }),
    rowsOf: ({ contacts }) => contacts,
    next({ contacts }, _, query) {
      const limit = Number(query.get('limit'));
      return contacts.length < limit ? null : { offset: `${Number(query.get('offset')) + limit}` };
    },
    secondsOf: ({ modifiedAt: at }) => Date.parse(at as string) / 1000,
  },
  {
    shape: clickup,
    headers: { authorization: clickup.token },
    query: (_, sinceMs) => ({
      date_updated_gt: `${sinceMs}`,
      order_by: 'updated',
      reverse: 'true',
      page: '0',
    }),
    rowsOf: ({ tasks }) => tasks,
    next: ({ last_page }, _, query) => (last_page ? null : { page: `${Number(query.get('page')) + 1}` }),
    secondsOf: ({ date_updated: at }) => Number(at) / 1000,
  },
  {
    shape: plain,
    headers: {},
    query: (limit, sinceMs) => ({
      token: plain.token,
      pagesize: `${limit}`,
      updated: `${Math.floor(sinceMs / 1000)}`,
      page: '0',
    }),
    rowsOf: ({ orders }) => orders,
    next: ({ orders }, _, query) =>
      orders.length < Number(query.get('pagesize')) ? null : { page: `${Number(query.get('page')) + 1}` },
    secondsOf: ({ updated: at }) => at as number,
  },
];

const named = readers.map((reader) => [reader.shape.name, reader] as const);
const byCursor = named.filter(([name]) => name === 'zendesk' || name === 'github');

let api: ApiServer;
afterEach(() => api?.stop());

async function start({ shape }: Reader, options: ApiOptions = {}): Promise<void> {
  // The server whose pages nobody can ask for has shorter ones here.
  api = await startApi(shape, { rows: 25, ...options, hostility: { pageCap: 10, ...options.hostility } });
}

function ask({ headers, shape }: Reader, query: Readonly<Record<string, string>>): Promise<Response> {
  return fetch(`${api.url}${shape.path}?${new URLSearchParams(query)}`, { headers });
}

interface Walked {
  readonly pages: readonly (readonly string[])[];
  readonly rows: readonly Row[];
}

async function walk(reader: Reader, sinceMs = 0, mostPages = 20): Promise<Walked> {
  const pages: string[][] = [];
  const rows: Row[] = [];
  let query: Readonly<Record<string, string>> | null = reader.query(10, sinceMs);
  while (query !== null && pages.length < mostPages) {
    const answer: Response = await ask(reader, query);
    expect(answer.status).toBe(200);
    const body = await answer.json();
    const page = reader.rowsOf(body);
    pages.push(page.map(reader.shape.keyOf));
    rows.push(...page);
    const change = reader.next(body, answer, new URLSearchParams(query));
    query = change === null ? null : { ...query, ...change };
  }
  return { pages, rows };
}

const keys = (): string[] => api.store.shown().map(({ key }) => key);
const sorted = (list: readonly string[]): string[] => [...list].sort();

describe.each(named)('the server in the shape of %s', (_name, reader) => {
  it('shows every row once, oldest first, in pages', async () => {
    await start(reader);
    const { pages, rows } = await walk(reader);
    expect(pages.map(({ length }) => length)).toEqual([10, 10, 5]);
    expect(pages.flat()).toEqual(keys());
    const seconds = rows.map(reader.secondsOf);
    expect(seconds).toEqual([...seconds].sort((a, b) => a - b));
  });

  it('filters by time, inclusive, and shows a change, a new row and a removal', async () => {
    await start(reader);
    const all = api.store.shown();
    const fromMs = all[20]!.stampMs;
    const late = all.filter(({ stampMs }) => stampMs >= fromMs).map(({ key }) => key);
    expect(sorted((await walk(reader, fromMs)).pages.flat())).toEqual(sorted(late));

    api.store.update(all[3]!.key);
    api.store.remove(all[22]!.key);
    const { key } = api.store.create();
    const expected = [...late.filter((one) => one !== all[22]!.key), all[3]!.key, key];
    expect(sorted((await walk(reader, fromMs)).pages.flat())).toEqual(sorted(expected));
    expect(api.store.truth().history.filter(({ id }) => id === all[3]!.key)).toHaveLength(2);
  });

  it('refuses a request without its token, and an unknown path', async () => {
    await start(reader);
    const { token: _token, ...query } = reader.query(10, 0);
    const refused = await fetch(`${api.url}${reader.shape.path}?${new URLSearchParams(query)}`);
    expect([refused.status, await refused.json()]).toEqual([
      401,
      reader.shape.failure(401, 'Bad credentials'),
    ]);
    expect((await fetch(`${api.url}/elsewhere`)).status).toBe(404);
    expect(api.requests.map(({ status }) => status)).toEqual([401, 404]);
  });

  it('fails, refuses, and cuts bodies when told to, until it is calm', async () => {
    await start(reader, { hostility: { eachFails: 4, eachTooMany: 3, eachCut: 2 } });
    const seen: (number | string)[] = [];
    for (let i = 0; i < 8; i++) {
      const answer = await ask(reader, reader.query(10, 0));
      const retryAfter = answer.headers.get('retry-after');
      await answer.json().then(
        () => seen.push(retryAfter === null ? answer.status : `${answer.status} ${retryAfter}`),
        () => seen.push('cut'),
      );
    }
    expect(seen).toEqual([200, 'cut', '429 1', 500, 200, 'cut', '429 1', 500]);
    api.calm();
    expect((await walk(reader)).pages.flat()).toEqual(keys());
  });

  it.each<[string, Partial<Hostility>, (walked: Walked, all: string[]) => unknown, unknown]>([
    ['repeats rows', { repeatedRows: 2 }, ({ pages }) => pages[1]!.slice(0, 2), ['8', '9']],
    ['is not sorted', { unsorted: true }, ({ pages }, all) => pages.flat().join() === all.join(), false],
    ['has shorter pages than asked for', { pageCap: 4 }, ({ pages }) => pages[0]!.length, 4],
  ])('%s when told to, and shows every row', async (_switch, hostility, look, expected) => {
    await start(reader, { hostility });
    const all = keys();
    // A short page is not the end for somebody who counts.
    const walked = hostility.pageCap === 4 ? await walkShort(reader) : await walk(reader);
    expect(sorted([...new Set(walked.pages.flat())])).toEqual(sorted(all));
    const places = Array.isArray(expected) ? expected.map((at) => all[Number(at)]) : expected;
    expect(look(walked, all)).toEqual(places);
  });

  it('ignores the filter, or leaves out the time itself, when told to', async () => {
    await start(reader, { hostility: { ignoresFilter: true } });
    const { stampMs } = api.store.shown()[20]!;
    expect((await walk(reader, stampMs)).rows).toHaveLength(25);
    api.behave({ ignoresFilter: false, exclusiveFilter: true });
    const later = api.store.shown().filter((row) => row.stampMs > stampMs);
    expect((await walk(reader, stampMs)).rows).toHaveLength(later.length);
  });

  it('shows a write late, answers slowly, changes and removes when told to', async () => {
    await start(reader, { hostility: { lateMs: 300, slowMs: 50 } });
    const [first] = api.store.shown();
    const { key } = api.store.create();
    api.store.changeSilently(first!.key);
    expect(keys()).not.toContain(key);
    // Both are shown late, and the change a moment after the new record.
    await until(() => keys().includes(key));
    await until(() => api.store.truth().history.filter(({ id }) => id === first!.key).length === 2);
    const changed = api.store.shown()[0]!;
    expect([changed.stampMs, changed.content]).toEqual([first!.stampMs, expect.anything()]);
    const before = Date.now();
    await walk(reader);
    expect(Date.now() - before).toBeGreaterThanOrEqual(100);
    api.behave({ lateMs: 0, removals: 0.3, silentChanges: 0.3 });
    const kinds = new Set(Array.from({ length: 60 }, () => api.store.write()));
    expect(sorted([...kinds])).toEqual(['create', 'remove', 'silent', 'update']);
  });
});

/** Reads on behind pages that are shorter than asked for. */
async function walkShort(reader: Reader): Promise<Walked> {
  if (reader.shape !== brevo && reader.shape !== plain) return walk(reader);
  const limited: Reader = { ...reader, query: (_, sinceMs) => reader.query(4, sinceMs) };
  const first = reader.rowsOf(await (await ask(reader, reader.query(10, 0))).json());
  expect(first).toHaveLength(4);
  return walk(limited);
}

describe.each(byCursor)('the pages by cursor of the server in the shape of %s', (_name, reader) => {
  it('stay in place while rows before them go and come', async () => {
    await start(reader);
    const all = keys();
    const [page] = (await walk(reader, 0, 1)).pages;
    expect(page).toEqual(all.slice(0, 10));
    const second = await goOn(reader, 1);
    api.store.remove(all[2]!);
    const { rowsOf, shape } = reader;
    expect(rowsOf(await (await ask(reader, second)).json()).map(shape.keyOf)).toEqual(all.slice(10, 20));
  });

  it('show an empty page in the middle, and go on, when told to', async () => {
    await start(reader, { hostility: { eachEmpty: 2 } });
    const { pages } = await walk(reader);
    expect(pages.map(({ length }) => length)).toEqual([10, 0, 10, 5]);
    expect(pages.flat()).toEqual(keys());
  });

  it('expire, and repeat themselves, when told to', async () => {
    await start(reader, { hostility: { eachExpired: 1 } });
    const second = await goOn(reader, 1);
    expect((await ask(reader, second)).status).toBe(410);
    api.behave({ eachExpired: 0, eachRepeated: 1 });
    const { pages } = await walk(reader, 0, 5);
    expect(pages.slice(2)).toEqual([pages[1], pages[1], pages[1]]);
  });

  it('name a cursor at the end too, when told to, with nothing behind it', async () => {
    await start(reader, { rows: 12, hostility: { endlessCursor: true } });
    const behind = await goOn(reader, 2);
    const answer = await ask(reader, behind);
    const body = await answer.json();
    expect(reader.rowsOf(body)).toStrictEqual([]);
    expect({ ...behind, ...cursorIn(reader, body, answer) }).toEqual(behind);
  });
});

/** The query that follows so many pages. */
async function goOn(reader: Reader, pages: number): Promise<Readonly<Record<string, string>>> {
  let query = reader.query(10, 0);
  for (let i = 0; i < pages; i++) {
    const answer = await ask(reader, query);
    query = { ...query, ...cursorIn(reader, await answer.json(), answer) };
  }
  return query;
}

function cursorIn(reader: Reader, body: Body, answer: Response): Readonly<Record<string, string>> {
  if (reader.shape === zendesk) return { cursor: body.after_cursor };
  return reader.next(body, answer, new URLSearchParams())!;
}
