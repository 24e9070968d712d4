import type { Logger } from '../../src/logging/logger';
import { type ClosableSource, createSource } from '../../src/source/client';
import type { RequestBudget } from '../../src/source/request-budget';

/** Says nothing and remembers warnings. */
export function quietLogger(): Logger & { readonly warnings: string[] } {
  const warnings: string[] = [];
  return {
    warnings,
    error: (message) => void warnings.push(message),
    warn: (message) => void warnings.push(message),
    info: () => {},
    debug: () => {},
  };
}

/** The budget has tests of its own; elsewhere its timers would be most of the time. */
const unlimited: RequestBudget = { run: (request) => request(), holdFor: () => {}, close: () => {} };

/** The real client against a simulator, with short pauses. */
export function testSource(
  api: { readonly url: string; readonly token: string },
  logger: Logger = quietLogger(),
  bodyLimitBytes = 64 * 2 ** 20,
  now: () => number = Date.now,
): ClosableSource {
  return createSource({
    baseUrl: api.url,
    token: api.token,
    budget: unlimited,
    limits: {
      timeoutMs: 60_000,
      idleTimeoutMs: 60_000,
      bodyLimitBytes,
      retry: { attempts: 4, totalMs: 60_000, baseMs: 5, maxMs: 50 },
    },
    logger,
    now,
  });
}
