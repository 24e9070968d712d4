import type { AddressInfo } from 'node:net';
import type { FeedName, JsonRecord } from './endpoints';
import { type SeedOptions, seedMarket } from './generator/seed';
import { createVendorHttp } from './http/http';
import type { SeenRequest } from './http/request-log';
import { createMarket, type MarketOptions } from './market';
import { createMarketDay } from './market-day';
import type { HistoryEntry } from './store/store';

export interface SimulatorOptions extends SeedOptions, MarketOptions {
  /** 0 (default): any free one. */
  readonly port?: number;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Compresses answers by gzip for clients that accept it. Default true. */
  readonly compress?: boolean;
  /** Milliseconds between the events of the market day; default: it does not run by itself. */
  readonly marketDayMs?: number;
}

export type Simulator = Awaited<ReturnType<typeof startSimulator>>;

/** Starts the simulated market data API. It listens when this resolves. */
export async function startSimulator(options: SimulatorOptions = {}) {
  const market = createMarket(options);
  const marketDay = createMarketDay(market, seedMarket(market, options));
  const app = await createVendorHttp(market, options.compress ?? true);
  await app.listen({ port: options.port ?? 0, host: options.host ?? '127.0.0.1' });
  const { port, address, family } = app.server.address() as AddressInfo;
  if (options.marketDayMs !== undefined) marketDay.start(options.marketDayMs);
  const { stores, faults, requests } = market;

  return {
    /** Base address, without a slash at its end. */
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    port,
    token: market.token,
    stores,
    marketDay,
    behave: market.behave,
    behaviour: market.behaviour,
    fault: faults.add,
    clearFaults: faults.clear,
    onRequest: market.hook,
    /** Present records by id. A complete reader must have all of them. */
    truth: (feed: FeedName): Map<string, JsonRecord> => stores[feed].truth(),
    history: (feed: FeedName, from?: number): HistoryEntry[] => stores[feed].history(from),
    /** The latest requests, oldest first. */
    requests: (feed?: FeedName): SeenRequest[] =>
      requests.list().filter((seen) => feed === undefined || seen.feed === feed),
    counters: requests.counters,
    clearRequests: requests.clear,
    /** Ends open and hanging connections too. */
    stop: async (): Promise<void> => {
      marketDay.stop();
      await app.close();
    },
  };
}
