import type { AddressInfo } from 'node:net';
import type { Behaviour, BehaviourChange } from './behaviour';
import { type FeedName, feedNames, type JsonRecord } from './endpoints';
import { type SeedOptions, seedMarket } from './generator/seed';
import type { FaultRule } from './http/faults';
import { createVendorHttp } from './http/http';
import type { RateLimit } from './http/rate-limit';
import type { RequestCounters, SeenRequest } from './http/request-log';
import { createMarket, type RequestHook } from './market';
import { createMarketDay, type MarketDay } from './market-day';
import type { FeedStore, HistoryEntry } from './store/store';

export interface SimulatorOptions extends SeedOptions {
  /** 0 (default): any free one. */
  readonly port?: number;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** The same seed makes the same records, shuffles and faults. Default 1. */
  readonly seed?: number;
  /** Accepted access tokens, default `simulator-token`; null: any. */
  readonly tokens?: readonly string[] | null;
  /** Switches of all feeds, and of single ones over that. */
  readonly behaviour?: BehaviourChange;
  readonly behaviours?: Partial<Record<FeedName, BehaviourChange>>;
  readonly faults?: readonly FaultRule[];
  readonly rateLimit?: RateLimit;
  readonly onRequest?: RequestHook;
  /** Milliseconds; default the real clock. */
  readonly clock?: () => number;
  /** Compresses answers by gzip for clients that accept it. Default true. */
  readonly compress?: boolean;
  /** How long an idle connection stays open, ms. Default 72000. */
  readonly keepAliveMs?: number;
  /** Latest requests remembered. Default 10000. */
  readonly requestsKept?: number;
  /** Keep every version ever written, for `history` and stale answers. Default true. */
  readonly keepHistory?: boolean;
  /** Milliseconds between the events of the market day; default: it does not run by itself. */
  readonly marketDayMs?: number;
}

export interface Simulator {
  /** Base address, without a slash at its end. */
  readonly url: string;
  readonly port: number;
  /** A token that is accepted. */
  readonly token: string;
  readonly stores: Readonly<Record<FeedName, FeedStore>>;
  readonly marketDay: MarketDay;
  /** Changes switches of one feed, or of all. @throws ZodError for a switch that does not exist */
  behave(change: BehaviourChange, feed?: FeedName): void;
  behaviour(feed: FeedName): Behaviour;
  fault(rule: FaultRule): void;
  clearFaults(): void;
  /** Null: no limit. */
  limitRate(limit: RateLimit | null): void;
  /** Replaces the hook that every request calls before it is answered. */
  onRequest(hook: RequestHook | null): void;
  /** Present records by id. A complete reader must have all of them. */
  truth(feed: FeedName): Map<string, JsonRecord>;
  history(feed: FeedName, from?: number): HistoryEntry[];
  /** The latest requests, oldest first. */
  requests(feed?: FeedName): SeenRequest[];
  readonly counters: RequestCounters;
  clearRequests(): void;
  /** Ends open and hanging connections too. */
  stop(): Promise<void>;
}

const defaultToken = 'simulator-token';

/** Starts the simulated market data API. It listens when this resolves. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const tokens = options.tokens === undefined ? [defaultToken] : options.tokens;
  const seed = options.seed ?? 1;
  const market = createMarket({
    seed,
    clock: options.clock ?? Date.now,
    tokens,
    requestsKept: options.requestsKept ?? 10_000,
    keepHistory: options.keepHistory ?? true,
    rateLimit: options.rateLimit ?? null,
    onRequest: options.onRequest ?? null,
  });
  if (options.behaviour) market.behave(options.behaviour);
  for (const feed of feedNames) {
    const change = options.behaviours?.[feed];
    if (change) market.behave(change, feed);
  }
  for (const rule of options.faults ?? []) market.faults.add(rule);
  const universe = seedMarket(market, seed, options);
  const marketDay = createMarketDay({ stores: market.stores, serverMs: market.serverMs, universe, seed });

  const app = await createVendorHttp(market, {
    compress: options.compress ?? true,
    keepAliveMs: options.keepAliveMs ?? 72_000,
  });
  await app.listen({ port: options.port ?? 0, host: options.host ?? '127.0.0.1' });
  const { port, address, family } = app.server.address() as AddressInfo;
  if (options.marketDayMs !== undefined) marketDay.start(options.marketDayMs);

  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    port,
    token: tokens?.[0] ?? defaultToken,
    stores: market.stores,
    marketDay,
    behave: market.behave,
    behaviour: market.behaviour,
    fault: market.faults.add,
    clearFaults: market.faults.clear,
    limitRate: market.limitRate,
    onRequest: market.hook,
    truth: (feed) => market.stores[feed].truth(),
    history: (feed, from) => market.stores[feed].history(from),
    requests: (feed) => market.requests.list().filter((seen) => feed === undefined || seen.feed === feed),
    counters: market.requests.counters,
    clearRequests: market.requests.clear,
    stop: async () => {
      marketDay.stop();
      await app.close();
    },
  };
}
