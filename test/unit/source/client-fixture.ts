import { inspect } from 'node:util';
import { type FeedDefinition, usualShape } from '../../../src/feeds/definition';
import type { Logger } from '../../../src/logging/logger';
import { type ClosableSource, createSource, type SourceOptions } from '../../../src/source/client';
import { createRequestBudget, type RequestBudget } from '../../../src/source/request-budget';
import { type HttpServer, startHttpServer } from '../../support/http-server';

export { failureOf } from '../../support/failure';

export const feed: FeedDefinition = {
  ...usualShape,
  name: 'ipos',
  path: '/api/v2.1/calendar/ipos',
  responseKey: 'ipos',
  schema: 'ipo.avsc',
  topic: 'ipos',
  parameters: { page: 'page', pageSize: 'pagesize', updatedSince: 'parameters[updated]' },
  query: { 'parameters[tickers]': 'AAA,B C' },
  pageSize: 1000,
  pagingLimit: 100_000,
  symbolField: 'ticker',
  unknowns: { emptyText: true, zero: [], zeroWithout: {} },
  transitions: [],
};

export const page = { updatedSince: 1_700_000_000, pageOffset: 2, pageSize: 50 };
/** Has characters that every encoding spells differently. */
export const token = 'MARK+ed/tok~en 42';

export const limits = {
  timeoutMs: 60_000,
  idleTimeoutMs: 60_000,
  bodyLimitBytes: 1_000_000,
  retry: { attempts: 3, totalMs: 60_000, baseMs: 4, maxMs: 8 },
};

type Overrides = Partial<Omit<SourceOptions, 'limits'>> & {
  limits?: Partial<Omit<typeof limits, 'retry'>> & { retry?: Partial<typeof limits.retry> };
};

const opened: { stop(): unknown }[] = [];

export async function server(...answer: Parameters<typeof startHttpServer>): Promise<HttpServer> {
  const started = await startHttpServer(...answer);
  opened.push(started);
  return started;
}

export function budget(options = {}): RequestBudget {
  const created = createRequestBudget({ requestsPerSecond: 1_000, maxConcurrent: 4, ...options });
  opened.unshift({ stop: () => created.close() });
  return created;
}

export function source(baseUrl: string, overrides: Overrides = {}): ClosableSource & { lines: unknown[][] } {
  const lines: unknown[][] = [];
  const note =
    (level: string) =>
    (...entry: unknown[]) => {
      lines.push([level, ...entry]);
    };
  const logger: Logger = {
    error: note('error'),
    warn: note('warn'),
    info: note('info'),
    debug: note('debug'),
  };
  const created = createSource({
    baseUrl,
    token,
    budget: overrides.budget ?? budget(),
    logger,
    ...overrides,
    limits: { ...limits, ...overrides.limits, retry: { ...limits.retry, ...overrides.limits?.retry } },
  });
  opened.unshift({ stop: () => created.close() });
  return { ...created, lines };
}

/** For `afterEach`: clients first, then servers. */
export async function stopAll(): Promise<void> {
  for (const one of opened.splice(0)) await one.stop();
}

export const never = new AbortController().signal;

/** Everything that anybody could print of an error. */
export function everyPrintedForm(error: unknown): string {
  const parts: string[] = [];
  for (let one: unknown = error; one instanceof Error; one = one.cause) {
    parts.push(one.message, String(one.stack), JSON.stringify(one), JSON.stringify({ ...one }));
    parts.push(inspect(one, { depth: 10, showHidden: true, getters: true }));
  }
  return parts.join('\n');
}
