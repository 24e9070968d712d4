import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { HighwaterError } from '../errors';
import type { FeedDefinition } from '../feeds/definition';
import type { Logger } from '../logger';
import { proxyPasswords } from '../proxy-passwords';
import { createRedactor, type Redact } from '../redaction';
import { joinSignals } from '../wait';
import { type EchoedToken, echoedToken } from './echoed-token';
import { type HttpLimits, httpGet } from './http-get';
import { endpointUrl, pageQuery } from './page-query';
import type { RequestBudget, RequestBudgetUse, RequestPriority } from './request-budget';
import { interpretResponse, type SourceFailure } from './response-policy';
import {
  createPageDeadline,
  type PageDeadline,
  type RetryLimits,
  type RetryOptions,
  withRetry,
} from './retry';
import { serverDateMs } from './retry-after';
import type { PageRequest, Source, SourcePage } from './source';
import type { SourceEvent } from './source-event';

export interface SourceLimits extends HttpLimits {
  readonly retry: RetryLimits;
}

export interface SourceOptions {
  /** http or https, perhaps with a path; no query, no user. */
  readonly baseUrl: string;
  readonly token: string;
  /** Shared by all sources of the token; closed by whoever made it. */
  readonly budget: RequestBudget;
  readonly limits: SourceLimits;
  readonly logger: Logger;
  /** A backfill asks through a source of its own, over the same budget. */
  readonly priority?: RequestPriority;
  /** Must not throw. */
  readonly tell?: (event: SourceEvent) => void;
  /** 0 to below 1. */
  readonly random?: () => number;
  /** ms. */
  readonly now?: () => number;
}

export interface ClosableSource extends Source {
  /** Ends requests under way (they fail with SOURCE_CLOSED) and closes the kept connections. */
  close(): void;
}

/**
 * The vendor's API over HTTP.
 * @throws HighwaterError CONFIG_INVALID when the base address is none
 */
export function createSource(options: SourceOptions): ClosableSource {
  const { baseUrl, token, limits, logger } = options;
  // Errors are kept in the log and shown by programs that know no secrets: what a proxy answers is in them, too.
  const redact = createRedactor([token, ...proxyPasswords(process.env)]);
  const echoed = echoedToken(token);
  requireUsableBase(baseUrl, redact);
  const agents = {
    http: new HttpAgent({ keepAlive: true }),
    https: new HttpsAgent({ keepAlive: true }),
  };
  const closing = new AbortController();

  return {
    async fetchPage(feed, page, signal) {
      const joint = joinSignals([signal, closing.signal]);
      const deadline = createPageDeadline(limits.retry.totalMs);
      const retryOptions: RetryOptions = {
        limits: limits.retry,
        random: options.random ?? Math.random,
        signal: joint.signal,
        onRetry({ code, what }, attempt, pauseMs) {
          options.tell?.({ kind: 'retried', feed: feed.name, reason: code });
          logger.info('asking again', { feed: feed.name, code, what, attempt, pauseMs: Math.round(pauseMs) });
        },
      };
      const turn: RequestBudgetUse = {
        priority: options.priority ?? 'live',
        signal: joint.signal,
        maxHoldMs: deadline.remainingMs,
      };
      const ask = () =>
        askOnce(feed, page, { ...options, agents, redact, echoed, deadline, signal: joint.signal });
      try {
        const outcome = await withRetry(() => options.budget.run(ask, turn), deadline, retryOptions);
        if (outcome.kind === 'failure')
          throw new HighwaterError(outcome.code, `${feed.name}: ${outcome.what}.`);
        logger.debug('read page', { feed: feed.name, rows: outcome.page.rows.length });
        return outcome.page;
      } catch (error) {
        signal.throwIfAborted();
        if (closing.signal.aborted)
          throw new HighwaterError('SOURCE_CLOSED', 'The client of the API is closed.');
        throw error;
      } finally {
        joint.leave();
      }
    },
    close() {
      closing.abort();
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

interface AskDeps extends SourceOptions {
  readonly agents: { readonly http: HttpAgent; readonly https: HttpsAgent };
  readonly redact: Redact;
  readonly echoed: EchoedToken;
  readonly deadline: PageDeadline;
  readonly signal: AbortSignal;
}

async function askOnce(
  feed: FeedDefinition,
  page: PageRequest,
  deps: AskDeps,
): Promise<{ readonly kind: 'page'; readonly page: SourcePage } | SourceFailure> {
  const { agents, baseUrl, deadline, limits, now = Date.now, redact, signal, token } = deps;
  deadline.start();
  const url = endpointUrl(baseUrl, feed.path);
  const request = `GET ${redact(url)}`;
  const timeoutMs = Math.max(1, Math.min(limits.timeoutMs, Math.ceil(deadline.remainingMs())));
  const began = performance.now();
  const answered = (status: number | null) =>
    deps.tell?.({ kind: 'requested', feed: feed.name, status, seconds: (performance.now() - began) / 1_000 });
  const result = await httpGet({
    url,
    query: pageQuery(feed, page, token),
    request,
    agents,
    limits: { ...limits, timeoutMs },
    redact,
    signal,
  });
  answered(result.kind === 'failure' ? null : result.response.status);
  if (result.kind === 'failure') return result;
  const { response } = result;
  const receivedAtMs = now();
  const read = interpretResponse(response, {
    responseKey: feed.responseKey,
    request,
    redact,
    echoedToken: deps.echoed,
    readRows: page.readRows,
    nowMs: receivedAtMs,
  });
  if (read.kind === 'page') {
    const { rows } = read;
    return { kind: 'page', page: { rows, serverDateMs: serverDateMs(response.headers.date), receivedAtMs } };
  }
  // The vendor counts by token: whoever uses it has to wait.
  if (read.code === 'SOURCE_RATE_LIMITED') deps.budget.holdFor(read.retryAfterMs ?? 0);
  return read;
}

function requireUsableBase(baseUrl: string, redact: Redact): void {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    const shown = redact(baseUrl.split(/[?#]/)[0] ?? '').replace(/\/\/[^/]*@/, '//');
    throw new HighwaterError(
      'CONFIG_INVALID',
      `The address of the API, "${shown}", is not one of http or https.`,
    );
  }
  if (url.username !== '' || url.password !== '' || url.search !== '') {
    throw new HighwaterError(
      'CONFIG_INVALID',
      'The address of the API holds a user or a query; it must be bare.',
    );
  }
}
