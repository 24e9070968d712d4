import type { ApiConfig, Config } from '../../config/load-config';
import { HighwaterError } from '../../errors';
import type { Feed } from '../../feeds/feed';
import type { Logger } from '../../logging/logger';
import { createApiClients } from '../../runtime/api-clients';
import { type ApiAccess, carriedAs, isUsual } from '../../source/api-access';
import type { Source, SourcePage } from '../../source/source';
import {
  type Check,
  type Checks,
  checked,
  clockToleranceMs,
  failed,
  failedBy,
  known,
  ok,
  skipped,
  warning,
} from './check';
import { checkFeed, firstRequest, subjectOf } from './feed';

/** Each feed's first page, requested as a publisher requests it, or the error. */
type FirstPages = ReadonlyMap<Feed, SourcePage | HighwaterError>;

/** Each API with its token and its clock, and each feed. @param onLate gets a line for each page that is late */
export async function* checkApi(
  config: Config,
  logger: Logger,
  signal: AbortSignal,
  onLate: (waiting: string) => void,
): Checks {
  const { api, feeds } = config;
  const why = 'address or token are not set (HIGHWATER_API_URL, HIGHWATER_API_TOKEN)';
  if (api === null) {
    for (const check of ['api', 'token', 'clock']) yield skipped(check, why);
    for (const feed of feeds) yield skipped(subjectOf(feed), why);
    return;
  }
  // Somebody waits for the answer: one more try, not a minute of them.
  const retry = { ...api.limits.retry, attempts: 2, totalMs: Math.min(api.limits.retry.totalMs, 20_000) };
  const clients = createApiClients(api, { logger, onLate, limits: { ...api.limits, retry } });
  try {
    for (const asked of feedsByAccess(feeds, api)) {
      const [{ name }] = asked as [Feed];
      const source = withinWindow(clients.of(name));
      const pages = await firstPages(asked, source, signal);
      const access = api.access.get(name)!;
      yield reachable(access.baseUrl, pages);
      yield token(pages, access);
      yield clock(pages);
      for (const [feed, page] of pages) {
        if (page instanceof HighwaterError) yield firstPageFailed(feed, page);
        else yield await checked(subjectOf(feed), () => checkFeed(feed, page, { source, logger }, signal));
      }
    }
    for (const feed of feeds.filter(({ name }) => !api.access.has(name))) {
      const lacking = api.lacking.get(feed.name);
      const remedy = 'Set it, or leave the feed out (HIGHWATER_FEEDS).';
      if (lacking === undefined) yield skipped(subjectOf(feed), why);
      else yield failed(subjectOf(feed), lacking, remedy, 'CONFIG_INVALID');
    }
  } finally {
    clients.close();
  }
}

/** Feeds that are asked in the same way: one of them tells about the API of all. */
function feedsByAccess(feeds: readonly Feed[], { access }: ApiConfig): readonly (readonly Feed[])[] {
  const groups = new Map<string, Feed[]>();
  for (const feed of feeds) {
    if (!access.has(feed.name)) continue;
    const { grant, ...others } = access.get(feed.name)!;
    const key = JSON.stringify([others, grant?.id]);
    groups.set(key, [...(groups.get(key) ?? []), feed]);
  }
  return [...groups.values()];
}

async function firstPages(feeds: readonly Feed[], source: Source, signal: AbortSignal): Promise<FirstPages> {
  const firstPage = (feed: Feed) => source.fetchPage(feed, firstRequest(feed), signal).catch(known);
  return new Map(
    await Promise.all(
      feeds.map(async (feed) => {
        const zero = await firstPage(feed);
        // Many APIs refuse page 0, or have nothing on it.
        const isLearned = feed.paging.style === 'page' && feed.paging.first === undefined;
        if (!isLearned || !mayBeginAtOne(zero)) return [feed, zero] as const;
        const fromOne = { ...feed, paging: { ...feed.paging, first: 1 as const } };
        const one = await firstPage(fromOne);
        const isNone = one instanceof HighwaterError || one.rows.length === 0;
        return isNone ? ([feed, zero] as const) : ([fromOne, one] as const);
      }),
    ),
  );
}

/** The same source. A feed whose API answers only a range of times is asked for its latest range. */
function withinWindow(source: Source): Source {
  const nowSeconds = Math.floor(Date.now() / 1000);
  return {
    fetchPage(feed, request, signal) {
      const { windowSeconds: length } = feed;
      if (length === undefined) return source.fetchPage(feed, request, signal);
      const updatedSince = Math.max(request.updatedSince, nowSeconds - length);
      const range = { updatedSince, updatedUntil: updatedSince + length };
      return source.fetchPage(feed, { ...request, ...range }, signal);
    },
  };
}

function mayBeginAtOne(page: SourcePage | HighwaterError): boolean {
  if (page instanceof HighwaterError)
    return ['SOURCE_REQUEST_REFUSED', 'SOURCE_NOT_FOUND', 'SOURCE_UNAVAILABLE'].includes(page.code);
  return page.rows.length === 0;
}

const unreachable = new Set(['SOURCE_UNREACHABLE', 'SOURCE_CERTIFICATE', 'SOURCE_TIMEOUT']);

/** The token server gave no token, so the API was not asked. */
const tokenless = new Set(['SOURCE_TOKEN_REFUSED', 'SOURCE_TOKEN_UNAVAILABLE']);

function reachable(baseUrl: string, pages: FirstPages): Check {
  const all = [...pages.values()];
  const [first] = all;
  const allFailed = (codes: ReadonlySet<string>) =>
    all.every((page) => page instanceof HighwaterError && codes.has(page.code));
  if (allFailed(tokenless)) return skipped('api', 'not asked: there is no token');
  const isDown = allFailed(unreachable);
  return isDown && first !== undefined ? failedBy('api', first) : ok('api', `${baseUrl} answers`);
}

function token(pages: FirstPages, { auth, grant }: ApiAccess): Check {
  const all = [...pages.values()];
  const refusals = new Set(['SOURCE_UNAUTHORIZED', ...tokenless]);
  const refused = all.find((page) => page instanceof HighwaterError && refusals.has(page.code));
  if (refused !== undefined) return failedBy('token', refused);
  const isAccepted = all.some(
    (page) => !(page instanceof HighwaterError) || page.code === 'SOURCE_FORBIDDEN',
  );
  if (!isAccepted) return skipped('token', 'no feed was answered');
  if (auth.scheme === 'none') return ok('token', 'none is asked for');
  if (isUsual(auth)) return ok('token', 'accepted');
  const from = grant === undefined ? '' : `, fetched from ${grant.tokenUrl}`;
  return ok('token', `accepted ${carriedAs(auth)}${from}`);
}

function clock(pages: FirstPages): Check {
  const answers = [...pages.values()].flatMap((page) => (page instanceof HighwaterError ? [] : [page]));
  if (answers.length === 0) return skipped('clock', 'no feed was answered');
  const differences = answers.flatMap(({ serverDateMs, receivedAtMs }) =>
    serverDateMs === null ? [] : [receivedAtMs - serverDateMs],
  );
  if (differences.length === 0) return ok('clock', 'the API gives no Date: the own clock is gone by');
  const least = differences.reduce((a, b) => (Math.abs(a) < Math.abs(b) ? a : b));
  if (Math.abs(least) <= clockToleranceMs) return ok('clock', "agrees with the API's");
  const seconds = Math.round(Math.abs(least) / 1000);
  return warning(
    'clock',
    `this machine is ${seconds} s ${least > 0 ? 'ahead of' : 'behind'} the API: changes of so many seconds are read again with every poll`,
    "Set this machine's clock by NTP. If it is right, the vendor's is wrong; nothing is lost.",
  );
}

/** Faults of the API or the token were reported above. */
function firstPageFailed(feed: Feed, error: HighwaterError): Check {
  const subject = subjectOf(feed);
  if (unreachable.has(error.code)) return skipped(subject, `not answered (${error.code})`);
  if (tokenless.has(error.code)) return skipped(subject, 'there is no token');
  if (error.code === 'SOURCE_UNAUTHORIZED') return skipped(subject, 'the token was refused');
  return failed(subject, error.message, error.remedy, error.code);
}
