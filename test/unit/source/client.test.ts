import type { OutgoingHttpHeaders } from 'node:http';
import { gzipSync } from 'node:zlib';
import { sendJson } from '../../support/http-server';
import { budget, failureOf, feed, never, page, server, source, stopAll } from './client-fixture';

afterEach(stopAll);

describe('a request', () => {
  it('carries the feed’s parameters, its fixed query and the token, readable in either spelling of brackets', async () => {
    const api = await server((_, response) => sendJson(response, { ipos: [] }));
    await source(api.url).fetchPage(feed, page, never);
    const url = api.requests[0]!.url;
    expect(new URL(url, api.url).pathname).toBe('/api/v2.1/calendar/ipos');
    const expected = {
      'parameters[tickers]': 'AAA,B C',
      page: '2',
      pagesize: '50',
      'parameters[updated]': '1700000000',
      token: 'MARK+ed/tok~en 42',
    };
    expect(Object.fromEntries(new URL(url, api.url).searchParams)).toEqual(expected);
    // A parser that splits first and decodes each name sees the same.
    const bySplitting = (url.split('?')[1] ?? '')
      .split('&')
      .map((pair) => pair.split('=').map((part) => decodeURIComponent(part.replaceAll('+', ' '))));
    expect(Object.fromEntries(bySplitting)).toEqual(expected);
    expect(url).toContain('parameters%5Bupdated%5D=1700000000');
  });

  it('for a range of dates names it instead of the dates in the feed’s query, if the endpoint has dates', async () => {
    const api = await server((_, response) => sendJson(response, { ipos: [] }));
    const query = { from: '1970-01-01', to: '2999-12-31', symbols: 'A' };
    const dated = { ...feed, query, parameters: { ...feed.parameters, dateFrom: 'from', dateTo: 'to' } };
    const dates = { from: '2026-01-31', to: '2026-02-01' };
    const asked = async (of: typeof feed, request: Parameters<ReturnType<typeof source>['fetchPage']>[1]) => {
      await source(api.url).fetchPage(of, request, never);
      return Object.fromEntries(new URL(api.requests.at(-1)!.url, api.url).searchParams);
    };
    expect(await asked(dated, { ...page, dates })).toMatchObject({ ...query, ...dates });
    expect(await asked(dated, page)).toMatchObject(query);
    expect(Object.values(await asked(feed, { ...page, dates }))).not.toContain(dates.from);
  });

  it('asks for JSON, accepts gzip and says who asks', async () => {
    const api = await server((_, response) => sendJson(response, { ipos: [] }));
    await source(api.url).fetchPage(feed, page, never);
    expect(api.requests[0]!.headers).toMatchObject({
      accept: 'application/json',
      'accept-encoding': expect.stringContaining('gzip'),
      'user-agent': expect.stringMatching(/^highwater\/\d+\.\d+\.\d+/),
    });
    await source(api.url).fetchPage(
      { ...feed, headers: { 'user-agent': 'Acme (ops@acme.example)' } },
      page,
      never,
    );
    expect(api.requests[1]!.headers).toMatchObject({ 'user-agent': 'Acme (ops@acme.example)' });
  });

  it('keeps a path of the base address', async () => {
    const api = await server((_, response) => sendJson(response, { ipos: [] }));
    await source(`${api.url}/vendor/`).fetchPage(feed, page, never);
    expect(api.requests[0]!.url).toMatch(/^\/vendor\/api\/v2\.1\/calendar\/ipos\?/);
  });

  it('goes over the same connection as the one before', async () => {
    const api = await server((_, response) => sendJson(response, { ipos: [] }));
    const client = source(api.url);
    for (let index = 0; index < 5; index += 1) await client.fetchPage(feed, page, never);
    expect(api.requests).toHaveLength(5);
    expect(api.connections()).toBe(1);
  });
});

describe('a page', () => {
  it('has the rows in the server’s order, its date, and the own time of arrival', async () => {
    const date = 'Tue, 14 Nov 2023 22:13:20 GMT';
    const api = await server((_, response) =>
      sendJson(response, { ipos: [{ id: 'b' }, 3, null] }, 200, { date }),
    );
    await expect(source(api.url, { now: () => 77 }).fetchPage(feed, page, never)).resolves.toEqual({
      rows: [{ id: 'b' }, 3, null],
      next: null,
      agedMs: 0,
      serverDateMs: 1_700_000_000_000,
      receivedAtMs: 77,
    });
  });

  it('may be compressed', async () => {
    const api = await server((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.end(gzipSync('{"ipos":[{"name":"Ünïcorn ☂"}]}'));
    });
    const { rows } = await source(api.url).fetchPage(feed, page, never);
    expect(rows).toEqual([{ name: 'Ünïcorn ☂' }]);
  });
});

it.each<[string, OutgoingHttpHeaders, string, string, RegExp]>([
  [
    'snappy',
    { 'content-encoding': 'snappy' },
    '\ufffd(\ufffd',
    'SOURCE_NOT_JSON',
    /a body in the encoding "snappy", not gzip or deflate/,
  ],
  [
    'two encodings',
    { 'content-encoding': 'gzip, br' },
    '\ufffd',
    'SOURCE_NOT_JSON',
    /the encoding "gzip, br"/,
  ],
  [
    'gzip for plain text',
    { 'content-encoding': 'gzip' },
    '{"ipos":[]}',
    'SOURCE_BODY_DAMAGED',
    /not in its Content-Encoding \(.*header/,
  ],
  [
    'headers above 16 KB',
    { 'x-long': 'x'.repeat(20_000) },
    '',
    'SOURCE_UNREACHABLE',
    /too large headers; .*--max-http-header-size=65536/,
  ],
  [
    'two lengths',
    { 'content-length': '2', 'transfer-encoding': 'chunked' },
    '',
    'SOURCE_UNREACHABLE',
    /answered with what is not HTTP \(.*HPE_/,
  ],
])('an answer with %s is named', async (_, headers, body, code, said) => {
  const api = await server((_, response) => response.writeHead(200, headers).end(body));
  const client = source(api.url, { limits: { retry: { attempts: 1 } } });
  const error = await failureOf(client.fetchPage(feed, page, never));
  expect(error).toMatchObject({ code, message: expect.stringMatching(said) });
});

describe('limits', () => {
  it('refuse a body above the limit at once, counted after decompression', async () => {
    const api = await server((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.end(gzipSync(`{"ipos":["${'x'.repeat(200_000)}"]}`));
    });
    const client = source(api.url, { limits: { bodyLimitBytes: 100_000 } });
    const error = await failureOf(client.fetchPage(feed, page, never));
    expect(error).toMatchObject({
      code: 'SOURCE_BODY_TOO_LARGE',
      message: expect.stringContaining('more than 100000 bytes'),
    });
    expect(api.requests).toHaveLength(1);
  });

  it('end an answer that trickles on for ever', async () => {
    const api = await server((_, response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write(' '), 10);
      response.on('close', () => clearInterval(drip));
    });
    const client = source(api.url, { limits: { timeoutMs: 150, retry: { attempts: 1 } } });
    const error = await failureOf(client.fetchPage(feed, page, never));
    expect(error).toMatchObject({
      code: 'SOURCE_TIMEOUT',
      message: expect.stringContaining('longer than 150 ms'),
    });
  });

  it.each([
    ['before the headers', false],
    ['within the body', true],
  ])('end an answer that falls silent %s', async (_, begins) => {
    const api = await server((_request, response) => {
      if (begins) response.writeHead(200).write('{"ipos":[');
    });
    const client = source(api.url, { limits: { idleTimeoutMs: 100, retry: { attempts: 1 } } });
    const error = await failureOf(client.fetchPage(feed, page, never));
    expect(error).toMatchObject({
      code: 'SOURCE_TIMEOUT',
      message: expect.stringContaining('nothing for 100 ms'),
    });
  });
});

it('an answer that is slow but never silent comes through', async () => {
  const api = await server((_, response) => {
    const parts = ['{"ipos"', ':[', '1', ',2', ']}', ' '];
    response.writeHead(200);
    const drip = setInterval(() => {
      const part = parts.shift();
      if (part !== undefined) return response.write(part);
      clearInterval(drip);
      return response.end();
    }, 700);
  });
  const client = source(api.url, { limits: { idleTimeoutMs: 3_000, retry: { attempts: 1 } } });
  await expect(client.fetchPage(feed, page, never)).resolves.toMatchObject({ rows: [1, 2] });
});

describe('retrying', () => {
  it('sends nothing once its wait for a turn has passed the deadline, and ends with the last failure', async () => {
    const api = await server((request, response) => {
      if (request.url!.includes('page=2')) sendJson(response, { message: 'over capacity' }, 503);
      else setTimeout(() => sendJson(response, { ipos: [] }), 500);
    });
    const shared = budget({ maxConcurrent: 1 });
    const hasty = source(api.url, {
      budget: shared,
      limits: { retry: { totalMs: 200, baseMs: 1, maxMs: 1 } },
    });
    const asked = failureOf(hasty.fetchPage(feed, page, never));
    const slow = source(api.url, { budget: shared }).fetchPage(feed, { ...page, pageOffset: 3 }, never);
    expect((await asked).code).toBe('SOURCE_UNAVAILABLE');
    await slow;
    expect(api.requests.map(({ url }) => /page=(\d)/.exec(url)![1])).toEqual(['2', '3']);
  });

  it('ends with the failure before, if an answer has only the rest of the time and does not come', async () => {
    const api = await server((_, response) => {
      if (api.requests.length === 1) sendJson(response, { message: 'over capacity' }, 503);
    });
    const limits = { timeoutMs: 10_000, retry: { totalMs: 300, baseMs: 1, maxMs: 1 } };
    const error = await failureOf(source(api.url, { limits }).fetchPage(feed, page, never));
    expect(error).toMatchObject({
      code: 'SOURCE_UNAVAILABLE',
      message: expect.stringContaining('over capacity'),
    });
    expect(api.requests).toHaveLength(2);
  });

  it('ends with the last failure, if an answer had all its time and does not come', async () => {
    const api = await server((_, response) => {
      if (api.requests.length === 1) sendJson(response, { message: 'over capacity' }, 503);
    });
    const limits = { timeoutMs: 100, retry: { attempts: 2, totalMs: 10_000, baseMs: 1, maxMs: 1 } };
    const error = await failureOf(source(api.url, { limits }).fetchPage(feed, page, never));
    expect(error.code).toBe('SOURCE_TIMEOUT');
    expect(api.requests).toHaveLength(2);
  });

  it.each([
    ['before its headers', false, 'SOURCE_UNREACHABLE'],
    ['within its body', true, 'SOURCE_BODY_TRUNCATED'],
  ])('tells an answer that breaks off %s', async (_, begins, code) => {
    const api = await server((_request, response) => {
      if (!begins) return response.destroy();
      response.writeHead(200, { 'content-length': 100 });
      return response.write('{"ipos":[', () => response.destroy());
    });
    const error = await failureOf(source(api.url).fetchPage(feed, page, never));
    expect(error.code).toBe(code);
  });

  it('keeps the status of an error answer whose body breaks off', async () => {
    const api = await server((_, response) => {
      response.writeHead(401, { 'content-length': 100 });
      response.write('{"mess', () => response.destroy());
    });
    const error = await failureOf(source(api.url).fetchPage(feed, page, never));
    expect(error.code).toBe('SOURCE_UNAUTHORIZED');
  });

  it('gives up at once when the API asks for a longer pause than there is time, and holds every feed back', async () => {
    const api = await server((_, response) =>
      sendJson(response, { message: 'slow down' }, 429, { 'retry-after': '120' }),
    );
    const client = source(api.url);
    const first = await failureOf(client.fetchPage(feed, page, never));
    expect(first).toMatchObject({
      code: 'SOURCE_RATE_LIMITED',
      message: expect.stringContaining('slow down'),
    });
    const second = await failureOf(client.fetchPage({ ...feed, name: 'other' }, page, never));
    expect(second).toMatchObject({
      code: 'SOURCE_RATE_LIMITED',
      message: expect.stringMatching(/another 1[12]\d s/),
    });
    expect(api.requests).toHaveLength(1);
  });

  it('passes on how long an API that is away asked to wait', async () => {
    const api = await server((_, response) =>
      sendJson(response, 'maintenance', 503, { 'retry-after': '120' }),
    );
    const error = await failureOf(source(api.url).fetchPage(feed, page, never));
    expect(error).toMatchObject({ code: 'SOURCE_UNAVAILABLE', retryAfterMs: 120_000 });
    expect(api.requests).toHaveLength(1);
  });

  it.each([
    ['page', 2, true],
    ['page', 1, false],
    ['page', 0, false],
    ['cursor', 2, false],
  ] as const)('a 404 "Invalid page." at %s %d is an empty page: %s', async (style, pageOffset, isEmpty) => {
    const api = await server((_, response) => sendJson(response, { detail: 'Invalid page.' }, 404));
    const paging =
      style === 'page'
        ? ({ style } as const)
        : ({ style, parameter: 'cursor', from: 'next', lastRow: null, mayExpire: false } as never);
    const asked = source(api.url).fetchPage({ ...feed, paging }, { ...page, pageOffset }, never);
    if (isEmpty) expect(await asked).toMatchObject({ rows: [] });
    else expect(await failureOf(asked)).toMatchObject({ code: 'SOURCE_NOT_FOUND' });
  });

  it.each([true, false])('a 404 is tried again unless it is expected: %s', async (mayBeMissing) => {
    let asked = 0;
    const api = await server((_, response) => {
      asked++;
      response.writeHead(404).end('{}');
    });
    const limits = { retry: { attempts: 3, totalMs: 10_000, baseMs: 1, maxMs: 1 } };
    const page404 = source(api.url, { limits }).fetchPage(feed, { ...page, mayBeMissing }, never);
    expect(await failureOf(page404)).toMatchObject({ code: 'SOURCE_NOT_FOUND' });
    expect(asked).toBe(mayBeMissing ? 1 : 3);
  });

  it.each(['Invalid page token.', 'Invalid page size 1000', 'Not found.'])(
    'a 404 that says "%s" is never an empty page',
    async (detail) => {
      const api = await server((_, response) => sendJson(response, { detail }, 404));
      const asked = source(api.url).fetchPage(feed, { ...page, pageOffset: 7 }, never);
      expect(await failureOf(asked)).toMatchObject({ code: 'SOURCE_NOT_FOUND' });
    },
  );

  async function waitsFor(status: number, headers: Record<string, string>): Promise<void> {
    const times: number[] = [];
    const api = await server((_, response, index) => {
      times.push(performance.now());
      if (index === 0) sendJson(response, '"slow down"', status, headers);
      else sendJson(response, { ipos: [] });
    });
    const shared = budget({ maxConcurrent: 1 });
    const [one, other] = [source(api.url, { budget: shared }), source(api.url, { budget: shared })];
    await Promise.all([one.fetchPage(feed, page, never), other.fetchPage(feed, page, never)]);
    expect(times).toHaveLength(3);
    expect(times[1]! - times[0]!).toBeGreaterThan(390);
  }

  it('waits as long as Retry-After says, with all feeds of the token', () =>
    waitsFor(429, { 'retry-after': '0.4' }));

  it('waits as long as a 403 says whose limit is used up, with all feeds of the token', () =>
    waitsFor(403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '0.4' }));
});

describe('ending', () => {
  it.each(['in a request', 'in a pause'])('by the signal is prompt %s', async (when) => {
    const controller = new AbortController();
    const reason = new Error('the program ends');
    const api = await server((_, response) => {
      if (when === 'in a pause') sendJson(response, 'busy', 503, { 'retry-after': '50' });
      setTimeout(() => controller.abort(reason), 30);
    });
    const began = performance.now();
    await expect(source(api.url).fetchPage(feed, page, controller.signal)).rejects.toBe(reason);
    expect(performance.now() - began).toBeLessThan(45_000);
  });

  it('does not begin when the signal is aborted already', async () => {
    const api = await server((_, response) => sendJson(response, { ipos: [] }));
    await expect(source(api.url).fetchPage(feed, page, AbortSignal.abort('over'))).rejects.toBe('over');
    expect(api.requests).toHaveLength(0);
  });

  it('by close fails what is under way, by name', async () => {
    let client: ReturnType<typeof source>;
    const api = await server(() => client.close());
    client = source(api.url);
    expect((await failureOf(client.fetchPage(feed, page, never))).code).toBe('SOURCE_CLOSED');
  });

  it('leaves no listener on a signal that lives on', async () => {
    const controller = new AbortController();
    const add = jest.spyOn(controller.signal, 'addEventListener');
    const remove = jest.spyOn(controller.signal, 'removeEventListener');
    const api = await server((_, response) => sendJson(response, { ipos: [] }));
    await source(api.url).fetchPage(feed, page, controller.signal);
    expect(remove.mock.calls.map(([type, listener]) => [type, listener])).toEqual(
      add.mock.calls.map(([type, listener]) => [type, listener]),
    );
  });
});
