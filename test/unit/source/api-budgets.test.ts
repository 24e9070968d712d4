import type { IncomingMessage, ServerResponse } from 'node:http';
import { createApiClients } from '../../../src/runtime/api-clients';
import { usualAuth } from '../../../src/source/api-access';
import { sendJson } from '../../support/http-server';
import { quietLogger } from '../../support/source';
import { until } from '../../support/until';
import { feed, limits, never, page, server, stopAll } from './client-fixture';

afterEach(stopAll);

const answer = (_: IncomingMessage, response: ServerResponse) => sendJson(response, { ipos: [] });

it('feeds of one API and one token share a request budget, and other feeds do not wait for it', async () => {
  const held: (() => void)[] = [];
  const shared = await server((request, response) => {
    if (request.url!.includes('token=other')) answer(request, response);
    else held.push(() => answer(request, response));
  });
  const other = await server(answer);
  const access = new Map(
    Object.entries({
      first: { baseUrl: shared.url, token: 'one' },
      second: { baseUrl: `${shared.url}/v2`, token: 'one' },
      otherToken: { baseUrl: shared.url, token: 'other' },
      otherApi: { baseUrl: other.url, token: 'one' },
    }).map(([name, api]) => [name, { ...api, auth: usualAuth }]),
  );
  const budget = { requestsPerSecond: 1_000, maxConcurrent: 1 };
  const retry = { ...limits.retry, totalMs: 60_000 };
  const patient = { ...limits, timeoutMs: 60_000, idleTimeoutMs: 60_000, retry };
  const config = { access, lacking: new Map(), ca: null, budget, limits: patient };
  const clients = createApiClients(config, { logger: quietLogger() });
  const ask = (name: string, priority: 'live' | 'backfill' = 'live') =>
    clients.of(name, priority).fetchPage({ ...feed, name }, page, never);
  try {
    // The live poll that asks last goes before the backfill.
    const waiting = [ask('first'), ask('first', 'backfill'), ask('second')];
    await ask('otherApi');
    await ask('otherToken');
    for (let answered = 0; answered < waiting.length; answered++) {
      await until(() => held.length === answered + 1);
      // A request of another budget passes the requests that wait.
      await ask('otherToken');
      expect(held).toHaveLength(answered + 1);
      held[answered]!();
    }
    expect(await Promise.all(waiting)).toHaveLength(3);
    const order = shared.requests.filter(({ url }) => url.includes('token=one')).map(({ url }) => url);
    expect(order.map((url) => url.startsWith('/v2'))).toEqual([false, true, false]);
  } finally {
    clients.close();
  }
});
