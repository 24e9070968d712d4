import type { Config, ConfigWithApi } from '../../config/load-config';
import { HighwaterError } from '../../errors';
import type { Feed } from '../../feeds/feed';
import type { Logger } from '../../logger';
import { createSource } from '../../source/client';
import { createRequestBudget } from '../../source/request-budget';
import type { Source, SourcePage } from '../../source/source';
import { type Check, type Checks, failed, failedBy, ok, skipped, warning } from './check';
import { checkFeed } from './feed';

/** Within these the answer's whole seconds and its way explain a difference. */
const clockToleranceMs = 5_000;

/** Each feed's first page, asked for as a publisher asks; what went wrong where there is none. */
type FirstPages = ReadonlyMap<Feed, SourcePage | HighwaterError>;

/** The API, the token, the clocks, and each feed. */
export async function* checkApi(config: Config, logger: Logger, signal: AbortSignal): Checks {
  if (config.api === null) {
    const why = 'address or token are not set (HIGHWATER_API_URL, HIGHWATER_API_TOKEN)';
    for (const check of ['api', 'token', 'clock']) yield skipped(check, why);
    for (const { name } of config.feeds) yield skipped({ check: 'feed', feed: name }, why);
    return;
  }
  const { api, feeds } = config as ConfigWithApi;
  const budget = createRequestBudget(api.budget);
  // Somebody waits for the answer: one more try, not a minute of them.
  const retry = { ...api.limits.retry, attempts: 2, totalMs: Math.min(api.limits.retry.totalMs, 20_000) };
  const source = createSource({
    ...{ baseUrl: api.baseUrl, token: api.token, budget, logger },
    limits: { ...api.limits, retry },
  });
  try {
    const pages = await firstPages(feeds, source, signal);
    yield reachable(api.baseUrl, pages);
    yield token(pages);
    yield clock(pages);
    for (const [feed, page] of pages) {
      const subject = { check: 'feed', feed: feed.name };
      if (page instanceof HighwaterError) yield firstPageFailed(subject, page);
      else yield await checkFeed(feed, page, source, signal);
    }
  } finally {
    source.close();
    budget.close();
  }
}

async function firstPages(feeds: readonly Feed[], source: Source, signal: AbortSignal): Promise<FirstPages> {
  return new Map(
    await Promise.all(
      feeds.map(async (feed) => {
        const request = { updatedSince: 0, pageOffset: 0, pageSize: feed.pageSize };
        const page = await source.fetchPage(feed, request, signal).catch((error: unknown) => {
          if (error instanceof HighwaterError) return error;
          throw error;
        });
        return [feed, page] as const;
      }),
    ),
  );
}

const unreachable = new Set(['SOURCE_UNREACHABLE', 'SOURCE_TIMEOUT']);

function reachable(baseUrl: string, pages: FirstPages): Check {
  const all = [...pages.values()];
  const [first] = all;
  const isDown = all.every((page) => page instanceof HighwaterError && unreachable.has(page.code));
  return isDown && first !== undefined ? failedBy('api', first) : ok('api', `${baseUrl} answers`);
}

function token(pages: FirstPages): Check {
  const all = [...pages.values()];
  const refused = all.find((page) => page instanceof HighwaterError && page.code === 'SOURCE_UNAUTHORIZED');
  if (refused !== undefined) return failedBy('token', refused);
  const isAccepted = all.some(
    (page) => !(page instanceof HighwaterError) || page.code === 'SOURCE_FORBIDDEN',
  );
  return isAccepted ? ok('token', 'accepted') : skipped('token', 'no feed was answered');
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

/** What is the API's or the token's fault was said above. */
function firstPageFailed(subject: { check: string; feed: string }, error: HighwaterError): Check {
  if (unreachable.has(error.code)) return skipped(subject, `not answered (${error.code})`);
  if (error.code === 'SOURCE_UNAUTHORIZED') return skipped(subject, 'the token was refused');
  return failed(subject, error.message, error.remedy, error.code);
}
