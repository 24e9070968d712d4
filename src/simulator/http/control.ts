import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { BehaviourChange } from '../behaviour';
import { feedNames } from '../endpoints';
import type { Market } from '../market';
import type { MarketDay } from '../market-day';
import type { FaultRule } from './faults';

const feed = z.enum(feedNames);
const behaviourBody = z.looseObject({ feed: feed.optional() });
const mutateBody = z.discriminatedUnion('op', [
  z.strictObject({
    op: z.literal('upsert'),
    feed,
    record: z.record(z.string(), z.unknown()),
    key: z.string().optional(),
    updated: z.number().optional(),
  }),
  z.strictObject({ op: z.literal('remove'), feed, id: z.string() }),
  z.strictObject({ op: z.literal('touch'), feed, id: z.string(), updated: z.number().optional() }),
  z.strictObject({ op: z.literal('rescale'), feed, id: z.string() }),
  z.strictObject({ op: z.literal('rewrite'), feed }),
]);
const marketDayBody = z.strictObject({
  /** Events to make now. */
  steps: z.int().min(0).max(100_000).default(0),
  /** Go on by itself, or stop (null). */
  intervalMs: z.number().min(1).nullable().optional(),
});
const rateLimitBody = z
  .strictObject({
    perSecond: z.number().positive(),
    burst: z.number().min(1),
    retryAfter: z.enum(['seconds', 'date', 'absent']).default('seconds'),
  })
  .nullable();
const feedParams = z.object({ feed });
const requestsQuery = z.object({ feed: feed.optional() });
const historyQuery = z.object({ from: z.coerce.number().int().min(0).default(0) });

/**
 * Routes by which a test in another process steers the simulator: no part of the vendor's API, no token. They refuse a body that
 * they cannot read with 400 and the reason.
 */
export function addControlRoutes(app: FastifyInstance, market: Market, marketDay: MarketDay): void {
  app.register(async (control) => {
    control.setErrorHandler((error, _request, reply) =>
      error instanceof z.ZodError
        ? reply.code(400).send({ message: z.prettifyError(error) })
        : reply.code(500).send({ message: String(error) }),
    );

    control.get('/_simulator/behaviour', async () =>
      Object.fromEntries(feedNames.map((name) => [name, market.behaviour(name)])),
    );
    control.post('/_simulator/behaviour', async (request) => {
      const { feed: name, ...change } = behaviourBody.parse(request.body);
      market.behave(change as BehaviourChange, name);
      return { ok: true };
    });
    control.get('/_simulator/faults', async () => market.faults.list());
    control.post('/_simulator/faults', async (request) => {
      market.faults.add(request.body as FaultRule);
      return { ok: true };
    });
    control.delete('/_simulator/faults', async () => {
      market.faults.clear();
      return { ok: true };
    });
    control.post('/_simulator/rate-limit', async (request) => {
      market.limitRate(rateLimitBody.parse(request.body ?? null));
      return { ok: true };
    });
    control.post('/_simulator/mutate', async (request) => mutate(market, mutateBody.parse(request.body)));
    control.post('/_simulator/market-day', async (request) => {
      const { steps, intervalMs } = marketDayBody.parse(request.body);
      if (intervalMs === null) marketDay.stop();
      else if (intervalMs !== undefined) marketDay.start(intervalMs);
      return { events: Array.from({ length: steps }, () => marketDay.step()) };
    });
    control.get('/_simulator/truth/:feed', async (request) => {
      const store = market.stores[feedParams.parse(request.params).feed];
      return { records: Object.fromEntries(store.truth()), unusable: store.unusable() };
    });
    control.get('/_simulator/history/:feed', async (request) => {
      const { from } = historyQuery.parse(request.query);
      return { versions: market.stores[feedParams.parse(request.params).feed].history(from) };
    });
    control.get('/_simulator/requests', async (request) => {
      const wanted = requestsQuery.parse(request.query).feed;
      const requests = market.requests.list().filter((seen) => wanted === undefined || seen.feed === wanted);
      return { counters: market.requests.counters, requests };
    });
    control.delete('/_simulator/requests', async () => {
      market.requests.clear();
      return { ok: true };
    });
  });
}

function mutate(market: Market, change: z.output<typeof mutateBody>): { ok: boolean; key?: string } {
  const store = market.stores[change.feed];
  switch (change.op) {
    case 'upsert': {
      const { key, updated } = change;
      const options = { ...(key !== undefined && { key }), ...(updated !== undefined && { updated }) };
      return { ok: true, key: store.upsert(change.record, options) };
    }
    case 'remove':
      return { ok: store.remove(change.id) };
    case 'touch':
      return { ok: store.touch(change.id, change.updated) };
    case 'rescale':
      return { ok: store.rescale(change.id) };
    case 'rewrite':
      store.rewrite();
      return { ok: true };
  }
}
