import type { Simulator } from '../../../src/simulator/simulator';
import { ask, ids, page, withSimulator } from './ask';

async function call(simulator: Simulator, method: string, path: string, body?: unknown) {
  const response = await fetch(`${simulator.url}/_simulator/${path}`, {
    method,
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, never> };
}

describe('the control routes', () => {
  it('change switches of one feed or of all, and leave the others alone', () =>
    withSimulator({ behaviour: { pageCap: 7 } }, async (simulator) => {
      await call(simulator, 'POST', 'behaviour', { order: 'desc', drift: { members: 0.5 } });
      await call(simulator, 'POST', 'behaviour', { feed: 'ipos', emptyAs: 'null' });
      expect(simulator.behaviour('ipos')).toMatchObject({ pageCap: 7, order: 'desc', emptyAs: 'null' });
      expect(simulator.behaviour('ipos').drift).toMatchObject({ members: 0.5, leaveOutZeroCounts: true });
      expect(simulator.behaviour('analysts')).toMatchObject({ pageCap: 7, order: 'desc', emptyAs: 'array' });
      const { body } = await call(simulator, 'GET', 'behaviour');
      expect(body).toEqual({
        insights: simulator.behaviour('insights'),
        analysts: simulator.behaviour('analysts'),
        ipos: simulator.behaviour('ipos'),
      });
    }));

  it('refuse what they do not know, by name, and change nothing', () =>
    withSimulator({}, async (simulator) => {
      const before = simulator.behaviour('ipos');
      for (const [path, body, named] of [
        ['behaviour', { pageCup: 3 }, 'pageCup'],
        ['behaviour', { order: 'sideways' }, 'order'],
        ['behaviour', { feed: 'bonds' }, 'feed'],
        ['faults', { fault: { kind: 'gremlin' } }, 'kind'],
        ['mutate', { op: 'upsert', feed: 'ipos' }, 'record'],
      ] as const) {
        const answer = await call(simulator, 'POST', path, body);
        expect(answer.status).toBe(400);
        expect(JSON.stringify(answer.body)).toContain(named);
      }
      expect((await call(simulator, 'GET', 'truth/bonds')).status).toBe(400);
      expect(simulator.behaviour('ipos')).toEqual(before);
    }));

  it('write, touch, rescale and remove records, and tell the truth', () =>
    withSimulator({}, async (simulator) => {
      const mutate = (body: unknown) => call(simulator, 'POST', 'mutate', body);
      expect(
        (await mutate({ op: 'upsert', feed: 'ipos', record: { id: 'a', price_min: '5.00', updated: 1000 } }))
          .body,
      ).toEqual({
        ok: true,
        key: 'a',
      });
      await mutate({ op: 'upsert', feed: 'ipos', record: { id: 'b' }, updated: 1001 });
      await mutate({ op: 'upsert', feed: 'ipos', record: { name: 'nobody' }, updated: 1002 });
      await mutate({ op: 'touch', feed: 'ipos', id: 'a', updated: 1003 });
      const truth = async () => (await call(simulator, 'GET', 'truth/ipos')).body;
      expect(await truth()).toEqual({
        records: { a: { id: 'a', price_min: '5.00', updated: 1003 }, b: { id: 'b', updated: 1001 } },
        unusable: [{ name: 'nobody', updated: 1002 }],
      });
      await mutate({ op: 'rescale', feed: 'ipos', id: 'a' });
      expect((await truth()).records).not.toHaveProperty('a.price_min', '5.00');
      expect((await mutate({ op: 'remove', feed: 'ipos', id: 'a' })).body).toEqual({ ok: true });
      expect((await mutate({ op: 'remove', feed: 'ipos', id: 'a' })).body).toEqual({ ok: false });
      expect(ids(await page(simulator, 'ipos', 0, 10))).toEqual(['b', undefined]);
      const { versions } = (await call(simulator, 'GET', 'history/ipos?from=4')).body as unknown as {
        versions: unknown;
      };
      expect(versions).toMatchObject([
        { id: 'a', record: { price_min: expect.any(String) } },
        { id: 'a', record: null },
      ]);
    }));

  it('set and clear faults and the rate limit', () =>
    withSimulator({}, async (simulator) => {
      await call(simulator, 'POST', 'faults', { fault: { kind: 'status', status: 503 }, times: 2 });
      await call(simulator, 'POST', 'faults', { fault: { kind: 'not-ok' }, probability: 1 });
      expect((await call(simulator, 'GET', 'faults')).body).toHaveLength(2);
      expect((await ask(simulator, 'ipos')).status).toBe(503);
      await call(simulator, 'DELETE', 'faults');
      expect((await ask(simulator, 'ipos')).status).toBe(200);
      await call(simulator, 'POST', 'rate-limit', { perSecond: 0.001, burst: 1 });
      expect([(await ask(simulator, 'ipos')).status, (await ask(simulator, 'ipos')).status]).toEqual([
        200, 429,
      ]);
      await call(simulator, 'POST', 'rate-limit');
      expect((await ask(simulator, 'ipos')).status).toBe(200);
    }));

  it('run the market day and list requests, without being counted themselves', () =>
    withSimulator({ records: { insights: 20, analysts: 20, ipos: 20 } }, async (simulator) => {
      const { events } = (await call(simulator, 'POST', 'market-day', { steps: 3 })).body as unknown as {
        events: string[];
      };
      expect(events).toHaveLength(3);
      await call(simulator, 'POST', 'market-day', { intervalMs: 5 });
      const before = simulator.history('ipos').length;
      while (simulator.history('ipos').length === before) await page(simulator, 'analysts', 0, 1);
      await call(simulator, 'POST', 'market-day', { intervalMs: null });
      await page(simulator, 'ipos', 0, 5);
      const seen = (await call(simulator, 'GET', 'requests?feed=ipos')).body as unknown as {
        counters: { byFeed: { ipos: number } };
        requests: { rows: number }[];
      };
      expect(seen.counters.byFeed.ipos).toBe(1);
      expect(seen.requests).toMatchObject([{ feed: 'ipos', rows: 5 }]);
      await call(simulator, 'DELETE', 'requests');
      expect(simulator.counters.requests).toBe(0);
    }));
});
