import type { ApiConfig } from '../config/load-config';
import { remind } from '../logging/remind';
import type { ApiAccess, Grant } from '../source/api-access';
import { type ClosableSource, createSource, type SourceOptions } from '../source/client';
import { type GrantedToken, grantedToken } from '../source/granted-token';
import { createRequestBudget, type RequestBudget, type RequestPriority } from '../source/request-budget';
import { sourceUpToPresent } from '../source/source';

interface ClientOptions
  extends Pick<SourceOptions, 'logger' | 'tell'>,
    Partial<Pick<SourceOptions, 'limits'>> {
  /** Called for each page that is late, with a line for people. Default: it is logged now and then. */
  readonly onLate?: (waiting: string) => void;
}

/** A page that has not come after so long is said to be waited for. Commands say so within 10 s. */
const LATE_MS = 4_000;

/** Makes a client for each API, and a request budget for each token at a host: vendors count by token. */
export function createApiClients(api: ApiConfig, options: ClientOptions) {
  const budgets = new Map<string, RequestBudget>();
  const clients = new Map<string, ClosableSource>();
  const tokens = new Map<string, GrantedToken>();

  function budgetOf({ baseUrl, grant, secret, token }: ApiAccess): RequestBudget {
    const key = JSON.stringify([new URL(baseUrl).origin, grant?.id ?? (token || secret?.source)]);
    const budget = budgets.get(key) ?? createRequestBudget(api.budget);
    budgets.set(key, budget);
    return budget;
  }

  function tokenOf(grant: Grant): GrantedToken {
    const { timeoutMs } = options.limits ?? api.limits;
    const token = tokens.get(grant.id) ?? grantedToken(grant, api, timeoutMs);
    tokens.set(grant.id, token);
    return token;
  }

  /** The feed of each page that is late. */
  const late = new Map<symbol, string>();
  const waitsFor = (feed: string): string | null =>
    [...late.values()].includes(feed)
      ? `Waiting for a page of ${feed} from ${api.access.get(feed)!.baseUrl}.`
      : null;

  function watched(client: ClosableSource): ClosableSource {
    const upToPresent = sourceUpToPresent(client);
    const fetchPage: ClosableSource['fetchPage'] = (feed, page, signal) => {
      const asked = Symbol();
      const timer = setTimeout(() => {
        late.set(asked, feed.name);
        const { onLate, logger } = options;
        const waiting = waitsFor(feed.name)!;
        if (onLate !== undefined) onLate(waiting);
        else remind(feed, 'late', () => logger.info(waiting, { feed: feed.name }));
      }, LATE_MS).unref();
      return upToPresent.fetchPage(feed, page, signal).finally(() => {
        clearTimeout(timer);
        late.delete(asked);
      });
    };
    return { ...client, fetchPage };
  }

  return {
    of(feed: string, priority: RequestPriority = 'live'): ClosableSource {
      const access = api.access.get(feed)!;
      const { baseUrl, auth, grant, token, secret } = access;
      // Two files may hold the same token for now.
      const key = JSON.stringify([baseUrl, auth, grant?.id ?? secret?.source ?? token, priority]);
      const { limits } = api;
      const granted = grant && tokenOf(grant);
      const made = (): ClosableSource =>
        createSource({
          limits,
          ...options,
          ...access,
          ...(granted && { secret: granted, granted }),
          priority,
          budget: budgetOf(access),
          get ca() {
            return api.ca;
          },
        });
      const client = clients.get(key) ?? watched(made());
      clients.set(key, client);
      return client;
    },
    /** The page of the feed that is waited for, in a line for people; null: none is late. */
    waitsFor,
    close(): void {
      for (const one of [...clients.values(), ...tokens.values(), ...budgets.values()]) one.close();
    },
  };
}
