import type { Fault, FaultRule } from '../../../src/simulator/http/faults';
import type { Simulator } from '../../../src/simulator/simulator';
import { ask, fill, ids, page, withSimulator } from './ask';

type FaultInput = FaultRule['fault'];

/** Answer of one request that meets the fault; the next one must be well again. */
async function met(simulator: Simulator, fault: FaultInput) {
  simulator.fault({ fault });
  const response = await ask(simulator, 'ipos', {}, { redirect: 'manual' });
  const text = await response.text();
  expect((await ask(simulator, 'ipos')).status).toBe(200);
  return { status: response.status, headers: response.headers, text };
}

describe('a fault', () => {
  it.each([
    [400, '{"message":"Invalid page size"}'],
    [401, '"ok":false'],
    [402, '{"text":"Payment required"}'],
    [403, '"message"'],
    [424, '"A service that this one needs did not answer"'],
    [429, '"message":"API rate limit exceeded"'],
    [499, ''],
    [500, '"ok":false'],
    [502, '<html>'],
    [503, '<html>'],
  ])('of status %i comes once, in its usual shape', (status, part) =>
    withSimulator({}, async (simulator) => {
      const answer = await met(simulator, { kind: 'status', status });
      expect(answer.status).toBe(status);
      expect(answer.text).toContain(part);
      expect(answer.headers.get('retry-after')).toBeNull();
      expect(simulator.requests()[0]).toMatchObject({ status, faults: ['status'], rows: 0 });
    }),
  );

  it.each(['errors', 'message', 'string', 'text', 'html', 'empty'] as const)(
    'has the shape %s when asked',
    (shape) =>
      withSimulator({}, async (simulator) => {
        const { text } = await met(simulator, { kind: 'status', status: 503, shape });
        const begins = {
          errors: '{"ok":false',
          message: '{"message"',
          string: '"',
          text: '{"text"',
          html: '<html>',
          empty: '',
        };
        expect(text.startsWith(begins[shape])).toBe(true);
        if (shape === 'empty') expect(text).toBe('');
      }),
  );

  it('says when to come back, in seconds or as a date', () =>
    withSimulator({ clock: () => Date.UTC(2026, 0, 5) }, async (simulator) => {
      const hint = async (as: 'seconds' | 'date' | 'absent') =>
        (await met(simulator, { kind: 'status', status: 429, retryAfter: { as, seconds: 30 } })).headers.get(
          'retry-after',
        );
      expect(await hint('seconds')).toBe('30');
      expect(await hint('date')).toBe('Mon, 05 Jan 2026 00:00:30 GMT');
      expect(await hint('absent')).toBeNull();
    }));

  it.each<[string, FaultInput, number, string]>([
    ['html', { kind: 'status', status: 200, shape: 'html' }, 200, '<html>'],
    ['not ok with 200', { kind: 'not-ok' }, 200, '{"data":null,"errors":[{'],
    ['a bare string', { kind: 'status', status: 200, shape: 'string' }, 200, '"Something went wrong"'],
    ['text', { kind: 'status', status: 200, shape: 'text' }, 200, '{"text":"Something went wrong"}'],
    ['another key', { kind: 'wrong-key' }, 200, '{"results":['],
    ['no route', { kind: 'no-route' }, 404, 'no Route matched'],
  ])('answers %s', (_name, fault, status, part) =>
    withSimulator({}, async (simulator) => {
      fill(simulator, [1000]);
      const answer = await met(simulator, fault);
      expect(answer.status).toBe(status);
      expect(answer.text).toContain(part);
    }),
  );

  it('answers 200 with nothing', () =>
    withSimulator({}, async (simulator) => {
      expect(await met(simulator, { kind: 'status', status: 200, shape: 'empty' })).toMatchObject({
        status: 200,
        text: '',
      });
    }));

  it('cuts the JSON but not the HTTP answer', () =>
    withSimulator({ records: { ipos: 5 } }, async (simulator) => {
      const { status, text } = await met(simulator, { kind: 'truncated' });
      expect(status).toBe(200);
      expect(text.startsWith('{"ipos":[{')).toBe(true);
      expect(() => JSON.parse(text)).toThrow();
    }));

  it('redirects to another host', () =>
    withSimulator({}, async (simulator) => {
      const { status, headers } = await met(simulator, { kind: 'redirect' });
      expect(status).toBe(302);
      expect(headers.get('location')).toMatch(
        /^http:\/\/other-host\.invalid\/api\/v2\.1\/calendar\/ipos\?token=/,
      );
    }));

  it('makes a body of so many megabytes with the same records', () =>
    withSimulator({}, async (simulator) => {
      fill(simulator, [1000, 1001]);
      const { text } = await met(simulator, { kind: 'large', megabytes: 3 });
      expect(text).toHaveLength(3 * 1024 * 1024);
      expect((JSON.parse(text) as { ipos: unknown[] }).ipos).toHaveLength(2);
    }));

  it.each(['before', 'middle'] as const)('resets the connection %s the body', (when) =>
    withSimulator({ records: { ipos: 100 } }, async (simulator) => {
      simulator.fault({ fault: { kind: 'reset', when } });
      const read = ask(simulator, 'ipos').then((response) => {
        expect(when).toBe('middle');
        return response.text();
      });
      await expect(read).rejects.toThrow(/fetch failed|terminated/);
      expect((await ask(simulator, 'ipos')).status).toBe(200);
      expect(simulator.requests()[0]).toMatchObject({ status: null, faults: ['reset'] });
    }),
  );

  it.each(['before', 'middle'] as const)('hangs %s the body until the client gives up', (when) =>
    withSimulator({ records: { ipos: 100 } }, async (simulator) => {
      simulator.fault({ fault: { kind: 'hang', when } });
      const read = ask(simulator, 'ipos', {}, { signal: AbortSignal.timeout(300) }).then((response) => {
        expect(when).toBe('middle');
        return response.text();
      });
      await expect(read).rejects.toThrow(/timeout/);
      expect((await ask(simulator, 'ipos')).status).toBe(200);
    }),
  );

  it('ends hanging connections when the simulator stops', () =>
    withSimulator({}, async (simulator) => {
      simulator.fault({ fault: { kind: 'hang' } });
      simulator.fault({ fault: { kind: 'delay', ms: 3_600_000 }, feed: 'analysts' });
      const hanging = [ask(simulator, 'ipos'), ask(simulator, 'analysts')].map((asked) =>
        asked.then(
          (response) => response.status,
          () => 'cut',
        ),
      );
      while (simulator.counters.requests < 2) await new Promise(setImmediate);
      await simulator.stop();
      expect((await Promise.all(hanging))[0]).toBe('cut');
    }));

  it('delays, and lets another fault come with it', () =>
    withSimulator({}, async (simulator) => {
      simulator.fault({ fault: { kind: 'delay', ms: 150 } });
      simulator.fault({ fault: { kind: 'status', status: 503 } });
      const start = performance.now();
      const response = await ask(simulator, 'ipos');
      expect(performance.now() - start).toBeGreaterThan(140);
      expect(response.status).toBe(503);
      expect(simulator.requests()[0]!.faults).toEqual(['delay', 'status']);
    }));

  it('answers from an older state once', () =>
    withSimulator({}, async (simulator) => {
      fill(simulator, [1000, 1001, 1002]);
      simulator.stores.ipos.touch('r1', 2000);
      simulator.stores.ipos.remove('r2');
      simulator.fault({ fault: { kind: 'stale', writes: 1 } });
      simulator.fault({ fault: { kind: 'stale', writes: 2 } });
      expect(ids(await page(simulator, 'ipos', 0, 10))).toEqual(['r2', 'r3', 'r1']);
      expect(ids(await page(simulator, 'ipos', 0, 10))).toEqual(['r1', 'r2', 'r3']);
      expect(ids(await page(simulator, 'ipos', 0, 10))).toEqual(['r3', 'r1']);
    }));

  it('never answers from before what was loaded', () =>
    withSimulator({ records: { ipos: 4 } }, async (simulator) => {
      simulator.fault({ fault: { kind: 'stale', writes: 100 } });
      expect(await page(simulator, 'ipos', 0, 10)).toHaveLength(4);
    }));

  it('shows only the first rows of a page', () =>
    withSimulator({}, async (simulator) => {
      fill(simulator, [1000, 1001, 1002]);
      simulator.fault({ fault: { kind: 'short', rows: 1 } });
      simulator.fault({ fault: { kind: 'short' } });
      expect(ids(await page(simulator, 'ipos', 0, 10))).toEqual(['r1']);
      expect(ids(await page(simulator, 'ipos', 0, 10))).toStrictEqual([]);
      expect(ids(await page(simulator, 'ipos', 0, 10))).toHaveLength(3);
    }));
});

describe('a fault rule', () => {
  const statuses = async (
    simulator: Simulator,
    count: number,
    feed: 'ipos' | 'analysts' = 'ipos',
    size = 10,
  ) => {
    const seen: number[] = [];
    const name = feed === 'ipos' ? 'pagesize' : 'pageSize';
    for (let i = 0; i < count; i++) seen.push((await ask(simulator, feed, { [name]: size })).status);
    return seen;
  };
  const status = (code: number): Fault => ({ kind: 'status', status: code });

  it('strikes as often as told, after those before it, on its feed, after so many requests', () =>
    withSimulator({}, async (simulator) => {
      simulator.fault({ fault: status(503), times: 2 });
      simulator.fault({ fault: status(500) });
      expect(await statuses(simulator, 4)).toEqual([503, 503, 500, 200]);
      simulator.fault({ fault: status(500), feed: 'analysts', skip: 1 });
      expect(await statuses(simulator, 2)).toEqual([200, 200]);
      expect(await statuses(simulator, 3, 'analysts')).toEqual([200, 500, 200]);
      expect(simulator.counters.byFault).toEqual({ status: 4 });
    }));

  it('strikes only large pages', () =>
    withSimulator({}, async (simulator) => {
      simulator.fault({ fault: status(500), pageSizeAbove: 100 });
      expect(await statuses(simulator, 1, 'ipos', 100)).toEqual([200]);
      expect(await statuses(simulator, 2, 'ipos', 101)).toEqual([500, 200]);
    }));

  it('strikes with a probability, the same for the same seed, until cleared', async () => {
    const runs: string[] = [];
    for (const seed of [3, 3, 4]) {
      await withSimulator({ seed, faults: [{ fault: status(500), probability: 0.3 }] }, async (simulator) => {
        const seen = await statuses(simulator, 100);
        const struck = seen.filter((code) => code === 500).length;
        expect(struck).toBeGreaterThan(10);
        expect(struck).toBeLessThan(55);
        runs.push(seen.join());
        simulator.clearFaults();
        expect(await statuses(simulator, 20)).not.toContain(500);
      });
    }
    expect(runs[0]).toBe(runs[1]);
    expect(runs[0]).not.toBe(runs[2]);
  });

  it('is refused when it makes no sense', () =>
    withSimulator({}, async (simulator) => {
      expect(() => simulator.fault({ fault: { kind: 'status', status: 42 } })).toThrow();
      expect(() => simulator.behave({ pageCap: 0 })).toThrow();
      expect(() => simulator.behave({ pageCup: 3 } as never)).toThrow(/pageCup/);
    }));
});
