import { joinSignals, sharedController, unlessAborted } from '../async/wait';
import { type ErrorCode, errorKinds, HighwaterError } from '../errors';
import type { AuthScheme, FeedDefinition } from '../feeds/definition';
import { AnswerShape } from '../json/answer-shape';
import { answerLimits } from '../json/limits';
import type { Logger } from '../logging/logger';
import { activeContext, failSpan, type SpanOptions, traced } from '../logging/tracing';
import { type EchoedToken, echoedToken } from '../secrets/echoed-token';
import { proxyPasswords } from '../secrets/proxy-passwords';
import { createRedactor, type Redact } from '../secrets/redaction';
import type { TokenDoubt } from '../secrets/token-doubt';
import { type AnswerAges, answerAges } from './answer-age';
import { type ApiAccess, authHeaders, secretsOf, tokenParameter, usualAuth } from './api-access';
import { type GrantedToken, withoutValue } from './granted-token';
import { createAgents, type HttpLimits, type HttpRequest, httpRequest } from './http-request';
import { isSameAddress, ownLink } from './next-page';
import { endpointUrl, pageBody, pageUrl } from './page-query';
import type { RequestBudget, RequestPriority } from './request-budget';
import { interpretResponse, type ReadRows } from './response-policy';
import { PageDeadline, type RetryLimits, type RetryOptions, serverDateMs, withRetry } from './retry';
import type { PageRequest, Source, SourceEvent, SourceFailure, SourcePage } from './source';

export interface SourceLimits extends HttpLimits {
  readonly retry: RetryLimits;
}

export interface SourceOptions extends Omit<ApiAccess, 'auth' | 'grant'> {
  /** Without it the token is a query parameter. */
  readonly auth?: AuthScheme;
  /** The `secret` of tokens that a server gives. The source does not close it. */
  readonly granted?: GrantedToken;
  /** Certificates (PEM) of authorities to trust besides the public ones, as they are now. */
  readonly ca?: string | null;
  /** Shared by all sources of the token. The source does not close it. */
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

/** The vendor's API over HTTP. */
export function createSource(options: SourceOptions): ClosableSource {
  const { granted, limits, logger, secret, random = Math.random, priority = 'live' } = options;
  const credentials = currentCredentials(options);
  const { redact } = credentials;
  const agents = createAgents(options);
  const closing = sharedController();
  const ages = answerAges();
  /** By feed. */
  const shapes = new Map<string, AnswerShape>();
  /** The last token with which a page was read. */
  let worked: string | null = null;
  /** By feed and code of the failure. */
  const doubts = new Map<string, TokenDoubt>();

  /** @param isFirst a page whose failure may pass is first asked for again with the same token */
  async function askWithToken(asked: Asked, isFirst: boolean, isAgain = false): Promise<Answer> {
    const { feed, signal } = asked;
    const unready = await (granted?.ready(signal) ?? (secret && unlessAborted(withoutValue(secret), signal)));
    if (unready) return unready;
    const used = credentials.now();
    const outcome = await askOnce({ ...options, ...asked, ...used, agents: agents.now(), ages, redact });
    const { token } = used.access;
    if (outcome.kind === 'page') {
      worked = token;
      granted?.accepted();
      return outcome;
    }
    if (isAgain || secret === undefined) return outcome;
    const { code, what } = outcome;
    if (REFUSALS.includes(code)) {
      if (await secret.isReplaced(token)) return askWithToken(asked, isFirst, true);
      const why = secret.problem === null ? '' : `; it cannot be read again: ${secret.problem}`;
      return { ...outcome, what: `${what}; the token comes from ${secret.name}${why}` };
    }
    if (!DOUBTFUL.includes(code) || (errorKinds[code].retriable && isFirst)) return outcome;
    const failed = `${feed.name} ${code}`;
    const doubt = doubts.get(failed) ?? { hasWorked: false, isVain: false };
    doubts.set(failed, doubt);
    doubt.hasWorked = token === worked;
    if (!(await unlessAborted(secret.isReplaced(token, doubt), signal))) return outcome;
    logger.info('asking with a new token', { feed: feed.name, code, what });
    const again = await askWithToken(asked, isFirst, true);
    doubt.isVain = again.kind === 'failure';
    return doubt.isVain ? outcome : again;
  }

  return {
    async fetchPage(feed, page, signal) {
      const joint = joinSignals([signal, closing.signal]);
      const deadline = new PageDeadline(limits.retry.totalMs);
      // A request may begin when one of another feed ends, in that one's context.
      const shape = shapes.get(feed.name) ?? new AnswerShape();
      shapes.set(feed.name, shape);
      const asked = { feed, page, deadline, shape, signal: joint.signal, parent: activeContext() };
      let last: SourceFailure | null = null;
      const ask = async (): Promise<Answer> => {
        // A retry also waits for its turn. Then there may be no time left for an answer.
        if (last !== null && deadline.remainingMs() < 1) return last;
        deadline.start();
        const isHurried = deadline.remainingMs() < limits.timeoutMs;
        const outcome = await askWithToken(asked, last === null);
        if (outcome.kind === 'page') return outcome;
        // An answer that had only the rest of the time says less than the one before it.
        if (last === null || !isHurried || outcome.code !== 'SOURCE_TIMEOUT') last = outcome;
        return last;
      };
      const turn = { priority, signal: joint.signal, maxHoldMs: () => deadline.remainingMs() };
      const retryOptions: RetryOptions = {
        ...{ limits: limits.retry, random, signal: joint.signal },
        final: page.mayBeMissing === true ? 'SOURCE_NOT_FOUND' : undefined,
        onRetry({ code, what }, attempt, pauseMs) {
          options.tell?.({ kind: 'retried', feed: feed.name, reason: code });
          logger.info('asking again', { feed: feed.name, code, what, attempt, pauseMs: Math.round(pauseMs) });
        },
      };
      try {
        const outcome = await withRetry(() => options.budget.run(ask, turn), deadline, retryOptions);
        if (outcome.kind === 'failure') {
          const { code, what } = outcome;
          // The budget keeps the pause after too many requests, for all feeds of the token.
          const retryAfterMs = code === 'SOURCE_UNAVAILABLE' ? outcome.retryAfterMs : undefined;
          throw new HighwaterError(code, `${feed.name}: ${what}.`, { retryAfterMs });
        }
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
      agents.destroy();
    },
  };
}

/** A page that is asked for. */
interface Asked {
  readonly feed: FeedDefinition;
  readonly page: PageRequest;
  readonly deadline: PageDeadline;
  readonly signal: AbortSignal;
  readonly shape: AnswerShape;
  /** The context of the poll. */
  readonly parent: ReturnType<typeof activeContext>;
}

interface AskDeps extends Asked, SourceOptions, CurrentToken {
  readonly agents: HttpRequest['agents'];
  readonly ages: AnswerAges;
  readonly redact: Redact;
}

type Answer = { readonly kind: 'page'; readonly page: SourcePage } | SourceFailure;

function askOnce(deps: AskDeps): Promise<Answer> {
  const { access, feed, parent, redact } = deps;
  const { method = 'GET' } = feed;
  const options = (): SpanOptions => {
    const url = endpointUrl(access.baseUrl, feed.path);
    const attributes = {
      'highwater.feed': feed.name,
      'http.request.method': method,
      'server.address': redact(new URL(url).hostname),
      'url.full': redact(url), // without the query, since some APIs have secrets in it
    };
    return { kind: 'CLIENT', attributes, parent };
  };
  return traced(`${method} ${redact(feed.path)}`, options, async (span) => {
    const onStatus = (status: number) => span?.setAttribute('http.response.status_code', status);
    const answer = await answerOf(deps, onStatus);
    if (answer.kind === 'failure') failSpan(span, { code: answer.code, message: answer.what });
    else span?.setAttribute('highwater.rows', answer.page.rows.length);
    return answer;
  });
}

async function answerOf(deps: AskDeps, onStatus: (status: number) => void): Promise<Answer> {
  const { access, ages, agents, deadline, feed, limits, now = Date.now, page, redact, signal } = deps;
  const { method = 'GET', paging } = feed;
  const url = endpointUrl(access.baseUrl, feed.path);
  const request = `${method} ${redact(url)}`;
  const asked = { paging, auth: access.auth, url, request, redact };
  // A stored link may lead to another address.
  const link = paging.style === 'link' ? ownLink(page.continuation ?? null, asked) : null;
  if (link?.kind === 'failure') return link;
  const timeoutMs = Math.max(1, Math.min(limits.timeoutMs, Math.ceil(deadline.remainingMs())));
  const began = performance.now();
  const linked = link?.next ? { ...page, continuation: link.next } : page;
  const address = pageUrl(feed, linked, access);
  const body = pageBody(feed, linked);
  const result = await httpRequest({
    ...{ url: address, method, body, request, agents, redact, signal },
    headers: { ...feed.headers, ...authHeaders(access) },
    pastCaches: ages.hasCache,
    limits: { ...limits, timeoutMs },
  });
  const status = result.kind === 'failure' ? null : result.response.status;
  deps.tell?.({ kind: 'requested', feed: feed.name, status, seconds: (performance.now() - began) / 1_000 });
  if (result.kind === 'failure') return result;
  const { response } = result;
  onStatus(response.status);
  const receivedAtMs = now();
  const agedMs = ages.ageOf(`${address} ${body ?? ''}`, response.headers, receivedAtMs);
  const { continuation, readRows } = page;
  const { idField, omit, responseKey, updatedField, updatedFormat } = feed;
  const read = await interpretResponse(response, {
    ...asked,
    ...{ idField, omit, responseKey, updatedField, updatedFormat },
    ...{ readRows, signal, nowMs: receivedAtMs },
    shape: deps.shape,
    echoedToken: deps.echoed,
    mayBeUnmodified: feed.parameters.updatedSince !== null && continuation === undefined,
    hasCursor: continuation !== undefined,
    isNumberBehind: ['page', 'offset'].includes(paging.style) && page.pageOffset > 1, // numbers begin at 0 or 1
    limits: answerLimits(limits.bodyLimitBytes),
  });
  if (read.kind === 'page') {
    const { kind: _, ...answer } = read;
    const next = paging.style === 'link' ? nextLink(read, address, feed, page, access.auth) : read.next;
    return {
      kind: 'page',
      page: { ...answer, next, serverDateMs: serverDateMs(response.headers.date), receivedAtMs, agedMs },
    };
  }
  // The vendor counts by token, so all feeds with the token have to wait.
  if (read.code === 'SOURCE_RATE_LIMITED') deps.budget.holdFor(read.retryAfterMs ?? 0);
  return read;
}

/**
 * Some APIs give the last page's own address as the next one. It is returned as it was asked for, so that the scan knows it again. A
 * first page that is not full ends there. A full one may come from an API that forgets the number in its links.
 */
function nextLink(
  { rows, next }: ReadRows,
  asked: string,
  { parameters }: FeedDefinition,
  { continuation, pageSize }: PageRequest,
  auth: AuthScheme,
): string | null {
  if (next === null || !isSameAddress(next, asked, tokenParameter(auth))) return next;
  if (continuation !== undefined) return continuation;
  return parameters.pageSize === null || rows.length < pageSize ? null : next;
}

/** Old tokens that an API may still repeat. */
const TOKENS_KEPT = 10;
/** So long, pages are also searched for the token that was replaced, in ms. It costs a few milliseconds for each large page. */
const EARLIER_ECHO_MS = 3_600_000;

interface CurrentToken {
  readonly access: ApiAccess;
  readonly echoed: EchoedToken;
}

/** The token as it is now, with what follows from it. */
function currentCredentials({ baseUrl, token, secret, auth = usualAuth }: SourceOptions) {
  // Errors are kept in the log and shown by programs that do not know the secrets. They may hold the answer of a proxy.
  const ofProxies = proxyPasswords(process.env);
  const used: string[] = [];
  const hidden: string[] = [];
  let current: CurrentToken | null = null;
  let replacedAt = Number.NEGATIVE_INFINITY;
  const now = (): CurrentToken => {
    const given = secret?.value ?? token;
    if (current?.access.token === given) {
      if (performance.now() - replacedAt > EARLIER_ECHO_MS) {
        current = { ...current, echoed: echoedToken([given]) };
        replacedAt = Number.POSITIVE_INFINITY;
      }
      return current;
    }
    replacedAt = performance.now();
    const access = { baseUrl, token: given, auth };
    used.push(given);
    used.splice(0, used.length - TOKENS_KEPT);
    const secrets = used.flatMap((one) => secretsOf({ auth, token: one }));
    hidden.splice(0, hidden.length, ...secrets, ...ofProxies);
    current = { access, echoed: echoedToken(used.slice(-2)) };
    return current;
  };
  now();
  return { redact: createRedactor(hidden, tokenParameter(auth)), now };
}

/** The API refused the token. */
export const REFUSALS: readonly ErrorCode[] = ['SOURCE_UNAUTHORIZED', 'SOURCE_FORBIDDEN'];
/** An answer arrived, but no page. Many APIs answer so when a token is over, and do not name it as the cause. */
const DOUBTFUL: readonly ErrorCode[] = [
  ...(['SOURCE_REPORTED_ERROR', 'SOURCE_WRONG_SHAPE', 'SOURCE_NOT_JSON', 'SOURCE_REDIRECTED'] as const),
  ...(['SOURCE_REQUEST_REFUSED', 'SOURCE_NOT_FOUND'] as const),
  ...(['SOURCE_BODY_EMPTY', 'SOURCE_UNEXPECTED_STATUS'] as const),
];
