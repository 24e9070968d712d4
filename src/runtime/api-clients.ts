import type { ApiConfig } from '../config/load-config';
import type { ApiAccess } from '../source/api-access';
import { type ClosableSource, createSource, type SourceOptions } from '../source/client';
import { createRequestBudget, type RequestBudget, type RequestPriority } from '../source/request-budget';

/** The clients of all APIs that feeds are read from. */
export interface ApiClients {
  /** The client of a feed's API. */
  of(feed: string, priority?: RequestPriority): ClosableSource;
  close(): void;
}

type ClientOptions = Pick<SourceOptions, 'logger' | 'tell'> & Partial<Pick<SourceOptions, 'limits'>>;

/** Makes a client for each API, and a request budget for each token at a host: vendors count by token. */
export function createApiClients(api: ApiConfig, options: ClientOptions): ApiClients {
  const budgets = new Map<string, RequestBudget>();
  const clients = new Map<string, ClosableSource>();

  function budgetOf({ baseUrl, token }: ApiAccess): RequestBudget {
    const key = JSON.stringify([new URL(baseUrl).origin, token]);
    const budget = budgets.get(key) ?? createRequestBudget(api.budget);
    budgets.set(key, budget);
    return budget;
  }

  return {
    of(feed, priority = 'live') {
      const access = api.access.get(feed)!;
      const { baseUrl, auth, token, secret } = access;
      // Two files may hold the same token for now.
      const key = JSON.stringify([baseUrl, auth, secret?.source ?? token, priority]);
      const { limits } = api;
      const client =
        clients.get(key) ??
        createSource({
          limits,
          ...options,
          ...access,
          priority,
          budget: budgetOf(access),
          get ca() {
            return api.ca;
          },
        });
      clients.set(key, client);
      return client;
    },
    close() {
      for (const one of [...clients.values(), ...budgets.values()]) one.close();
    },
  };
}
