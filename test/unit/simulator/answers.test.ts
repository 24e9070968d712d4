import { get } from 'node:http';
import { address, ask, fill, ids, page, withSimulator } from './ask';

const json = async (response: Response) => JSON.parse(await response.text()) as unknown;

describe('an answer', () => {
  it('has one key with the records, for each endpoint', () =>
    withSimulator({ records: { insights: 3, analysts: 3, ipos: 3 } }, async (simulator) => {
      for (const [feed, key] of [
        ['insights', 'analyst-insights'],
        ['analysts', 'analyst_ratings_analyst'],
        ['ipos', 'ipos'],
      ] as const) {
        const response = await ask(simulator, feed, feed === 'insights' ? { date_from: '1900-01-01' } : {});
        expect(response.headers.get('content-type')).toContain('application/json');
        const body = (await json(response)) as Record<string, unknown[]>;
        expect(Object.keys(body)).toEqual([key]);
        expect(body[key]).toHaveLength(3);
        expect(new Map((body[key] as { id: string }[]).map((row) => [row.id, row]))).toEqual(
          simulator.truth(feed),
        );
      }
    }));

  it('refuses a missing or unknown token without repeating it', () =>
    withSimulator({ tokens: ['right'] }, async (simulator) => {
      for (const query of [{ token: 'wrong-secret' }, { token: '' }]) {
        const response = await ask(simulator, 'ipos', query);
        expect(response.status).toBe(401);
        const text = await response.text();
        expect(text).toContain('"ok":false');
        expect(text).not.toContain('wrong-secret');
      }
      expect((await ask(simulator, 'ipos')).status).toBe(200);
      const header = await ask(
        simulator,
        'ipos',
        { token: '' },
        { headers: { authorization: 'token right' } },
      );
      expect(header.status).toBe(200);
    }));

  it('takes any token when there is no list', () =>
    withSimulator({ tokens: null }, async (simulator) => {
      expect((await ask(simulator, 'ipos', { token: 'anything' })).status).toBe(200);
      expect((await ask(simulator, 'ipos', { token: '' })).status).toBe(401);
    }));

  it("is the gateway's for an unknown path", () =>
    withSimulator({}, async (simulator) => {
      const response = await fetch(`${simulator.url}/api/v2/calendar/ipos?token=${simulator.token}`);
      expect(response.status).toBe(404);
      expect(await json(response)).toEqual({ message: 'no Route matched with those values' });
    }));

  it.each([
    ['array', 200, { ipos: [] }],
    ['not-found', 404, { code: 'no_data_found', id: 'not_found' }],
    ['null', 200, { ipos: null }],
    ['object', 200, {}],
    ['bare', 200, []],
  ] as const)('writes an empty page as %s', (emptyAs, status, body) =>
    withSimulator({ behaviour: { emptyAs } }, async (simulator) => {
      const response = await ask(simulator, 'ipos');
      expect(response.status).toBe(status);
      expect(await json(response)).toEqual(body);
      fill(simulator, [1000]);
      expect((await ask(simulator, 'ipos')).status).toBe(200);
    }),
  );

  it('is a bare array by switch', () =>
    withSimulator({ behaviours: { ipos: { bodyAs: 'bare' } } }, async (simulator) => {
      expect(await json(await ask(simulator, 'ipos'))).toStrictEqual([]);
      fill(simulator, [1000]);
      expect(await json(await ask(simulator, 'ipos'))).toEqual([
        { id: 'r1', date: '2026-01-05', updated: 1000 },
      ]);
      expect(await json(await ask(simulator, 'analysts'))).toEqual({ analyst_ratings_analyst: [] });
    }));

  it('has the date of its own clock, with skew, or none', () =>
    withSimulator({ clock: () => Date.UTC(2026, 2, 14, 12) }, async (simulator) => {
      const date = async () => (await ask(simulator, 'ipos')).headers.get('date');
      expect(await date()).toBe('Sat, 14 Mar 2026 12:00:00 GMT');
      simulator.behave({ clockSkew: -90 });
      expect(await date()).toBe('Sat, 14 Mar 2026 11:58:30 GMT');
      simulator.stores.ipos.upsert({ id: 'a' });
      expect((await page(simulator, 'ipos', 0, 10))[0]!.updated).toBe(
        Date.UTC(2026, 2, 14, 11, 58, 30) / 1000,
      );
      simulator.behave({ dateHeader: false });
      expect(await date()).toBeNull();
    }));

  it('is compressed for those who accept it, unless switched off', async () => {
    // fetch() decompresses and hides the header's origin; a plain request shows what is on the wire.
    const encoding = (url: string) =>
      new Promise((resolve, reject) => {
        get(url, { headers: { 'accept-encoding': 'gzip' }, agent: false }, (response) => {
          response.resume();
          response.on('end', () => resolve(response.headers['content-encoding']));
        }).on('error', reject);
      });
    await withSimulator({ records: { ipos: 20 } }, async (simulator) => {
      expect(await encoding(address(simulator, 'ipos'))).toBe('gzip');
      expect(await page(simulator, 'ipos', 0, 100)).toHaveLength(20);
    });
    await withSimulator({ records: { ipos: 20 }, compress: false }, async (simulator) => {
      expect(await encoding(address(simulator, 'ipos'))).toBeUndefined();
    });
  });
});

describe('dates and filters', () => {
  const insight = (id: string, date: string, symbol: string) => ({
    id,
    date,
    updated: 1000,
    security: { symbol },
  });

  it('shows insights of the latest date only, unless a date is given', () =>
    withSimulator({}, async (simulator) => {
      const store = simulator.stores.insights;
      store.upsert(insight('old', '2024-05-01', 'AAA'));
      store.upsert(insight('new', '2026-01-05', 'AAA'));
      store.upsert(insight('day before', '2026-01-04', 'BBB'));
      const shown = async (query: Record<string, string>) => {
        const body = (await json(await ask(simulator, 'insights', query))) as {
          'analyst-insights': { id: string }[];
        };
        return body['analyst-insights'].map(({ id }) => id);
      };
      expect(await shown({})).toEqual(['new']);
      // The trap: updated since does not lift the default.
      expect(await shown({ 'parameters[updated]': '0' })).toEqual(['new']);
      expect(await shown({ date_from: '2026-01-01' })).toEqual(['new', 'day before']);
      expect(await shown({ date_to: '2026-01-04' })).toEqual(['day before', 'old']);
      expect(await shown({ date: '2026-01-04' })).toEqual(['day before']);
      expect(await shown({ date_from: '2020-01-01', date_to: '2030-01-01' })).toEqual([
        'new',
        'day before',
        'old',
      ]);
      expect(await shown({ date_from: '2020-01-01', symbols: 'bbb,CCC' })).toEqual(['day before']);
      simulator.behave({ latestDayDefault: false });
      expect(await shown({})).toEqual(['new', 'day before', 'old']);
      const tooMany = Array.from({ length: 51 }, (_, i) => `S${i}`).join(',');
      expect((await ask(simulator, 'insights', { symbols: tooMany })).status).toBe(400);
      expect((await ask(simulator, 'insights', { date_from: '2026' })).status).toBe(400);
    }));

  it('filters IPOs by date text, so that a bare year falls out of a range', () =>
    withSimulator({}, async (simulator) => {
      const store = simulator.stores.ipos;
      store.upsert({ id: 'day', date: '2026-03-14', ticker: 'AAA', updated: 1000 });
      store.upsert({ id: 'year', date: '2026', ticker: 'BBB', updated: 1001 });
      store.upsert({ id: 'unknown', date: '', ticker: 'CCC', updated: 1002 });
      const shown = async (query: Record<string, string>) =>
        ids(await page(simulator, 'ipos', 0, 10, null, query));
      expect(await shown({})).toEqual(['day', 'year', 'unknown']);
      expect(await shown({ ipo_date: '2026-03-14' })).toEqual(['day']);
      expect(await shown({ 'parameters[ipo_date]': '2026-03-14' })).toEqual(['day']);
      const range = { 'parameters[date_from]': '2026-01-01', 'parameters[date_to]': '2026-12-31' };
      expect(await shown(range)).toEqual(['day']);
      expect(await shown({ 'parameters[tickers]': 'AAA,CCC' })).toEqual(['day', 'unknown']);
    }));
});

describe('requests seen', () => {
  it('are kept without the token, with headers, connection and counters', () =>
    withSimulator({}, async (simulator) => {
      fill(simulator, [1000, 1001]);
      for (let i = 0; i < 8; i++) {
        await page(simulator, 'ipos', 0, 10, i);
      }
      const secret = { headers: { accept: 'application/json', authorization: `token ${simulator.token}` } };
      await (await ask(simulator, 'analysts', {}, secret)).text();
      const seen = simulator.requests();
      expect(seen).toHaveLength(9);
      expect(seen[6]).toMatchObject({
        number: 7,
        feed: 'ipos',
        path: '/api/v2.1/calendar/ipos',
        query: { page: '0', pagesize: '10', 'parameters[updated]': '6' },
        status: 200,
        rows: 2,
      });
      expect(seen[8]!.headers.accept).toBe('application/json');
      expect(JSON.stringify(seen)).not.toContain(simulator.token);
      expect(simulator.requests('analysts')).toHaveLength(1);
      expect(simulator.counters).toMatchObject({
        requests: 9,
        byFeed: { insights: 0, analysts: 1, ipos: 8 },
      });
      // fetch() keeps its connections alive, so nine requests in a row need fewer sockets.
      expect(simulator.counters.sockets).toBeLessThan(9);
      simulator.clearRequests();
      expect(simulator.requests()).toStrictEqual([]);
      expect(simulator.counters.requests).toBe(0);
    }));

  it('count connections, one for each request that does not keep it', () =>
    withSimulator({}, async (simulator) => {
      for (let i = 0; i < 3; i++) {
        await new Promise((resolve, reject) => {
          get(address(simulator, 'ipos'), { agent: false }, (response) =>
            response.resume().on('end', resolve),
          ).on('error', reject);
        });
      }
      expect(simulator.counters.sockets).toBe(3);
    }));

  it('call the hook before they are answered', () =>
    withSimulator({}, async (simulator) => {
      fill(simulator, [1000, 1001, 1002]);
      const numbers: number[] = [];
      simulator.onRequest(async (number, { feed }) => {
        numbers.push(number);
        if (number === 2) simulator.stores[feed!].touch('r1', 2000);
      });
      expect(ids(await page(simulator, 'ipos', 0, 2))).toEqual(['r1', 'r2']);
      expect(ids(await page(simulator, 'ipos', 0, 2))).toEqual(['r2', 'r3']);
      expect(numbers).toEqual([1, 2]);
    }));
});

describe('the rate limit', () => {
  it('lets a burst through and then answers 429 until time has passed', async () => {
    let now = Date.UTC(2026, 0, 5);
    await withSimulator(
      { clock: () => now, rateLimit: { perSecond: 0.5, burst: 2 }, tokens: null },
      async (simulator) => {
        const status = async (token = 'a') => (await ask(simulator, 'ipos', { token })).status;
        expect([await status(), await status(), await status(), await status('b')]).toEqual([
          200, 200, 429, 200,
        ]);
        const refused = await ask(simulator, 'ipos', { token: 'a' });
        expect(refused.headers.get('retry-after')).toBe('2');
        now += 2000;
        expect([await status(), await status()]).toEqual([200, 429]);
      },
    );
  });
});
