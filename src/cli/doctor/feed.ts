import type { Feed } from '../../feeds/feed';
import { keyPaths, rowKeys } from '../../feeds/row-keys';
import { valueAtPath } from '../../json/dotted-path';
import { removeMembers } from '../../json/remove-members';
import { rowsWithoutTime } from '../../pipeline/rounds/rows-without-time';
import { type PageFacts, pageFacts, repeats } from '../../pipeline/scan/pages/page-facts';
import { inferPaging, showOrder, unknownPaging } from '../../pipeline/scan/pages/paging';
import { unlessRefused } from '../../pipeline/scan/pages/refusals';
import type { ScanDeps } from '../../pipeline/scan/scan-position';
import { LONGEST_LAG } from '../../pipeline/scan/seam';
import { signsOfMore } from '../../source/more-rows';
import { parsedJson } from '../../source/response-policy';
import type { PageRequest, RowReader, Source, SourcePage } from '../../source/source';
import { filterEdge, type SeenRows } from '../init/infer-paging';
import { type Check, type Checks, failed, ok, warning } from './check';

export const subjectOf = ({ name }: Pick<Feed, 'name'>) => ({ check: 'feed', feed: name });

export function firstRequest(feed: Feed): PageRequest {
  return { updatedSince: 0, pageOffset: firstNumber(feed), pageSize: feed.pageSize };
}

/** Enough rows to tell by, few enough to ask for several times. */
const probeSize = ({ pageSize }: Feed): number => Math.min(100, pageSize);

/** Rows from a second on, of a page counted from the first one; of the size that the probes have, unless another one is given. */
type Ask = (updatedSince: number, pageOffset: number, pageSize?: number) => Promise<PageFacts>;

/** @param first the page that a publisher would begin with */
export async function checkFeed(
  feed: Feed,
  first: SourcePage,
  deps: ScanDeps,
  signal: AbortSignal,
): Promise<Check> {
  const all: Check[] = [];
  for await (const check of findings(feed, first, deps, signal)) {
    if (check.state === 'failed') return { ...check, feed: feed.name };
    all.push(check);
  }
  const warnings = all.filter(({ state }) => state === 'warning');
  if (warnings.length === 0) return ok(subjectOf(feed), all.map(({ found }) => found).join(', '));
  const found = warnings.map((one) => one.found).join('; ');
  return warning(subjectOf(feed), found, warnings.map(({ remedy }) => remedy).join(' '));
}

/** How a feed is served, as the answers to a few requests show it, without its name. The first failure ends the requests. */
async function* findings(feed: Feed, first: SourcePage, deps: ScanDeps, signal: AbortSignal): Checks {
  const { source } = deps;
  const keys = rowKeys(feed);
  const begin = firstNumber(feed);
  const ask: Ask = async (updatedSince, page, pageSize = probeSize(feed)) => {
    const request = { updatedSince, pageOffset: begin + page, pageSize };
    const answer = source.fetchPage(feed, request, signal);
    // Some APIs do not know a page behind their last one.
    const { rows } =
      page === 0 ? await answer : ((await unlessRefused(answer, ['SOURCE_NOT_FOUND'])) ?? { rows: [] });
    return pageFacts(rows, keys);
  };
  const whole = pageFacts(first.rows, keys);
  if (whole.length === 0) {
    const remedy = `If there should be some, check path, query and filters of the feed in highwater.yaml.`;
    yield warning('feed', 'answered without a record: nothing more can be told', remedy);
    return;
  }
  const unusable = whole.ids.filter((id, i) => id === null || (whole.updated[i] ?? null) === null).length;
  if (unusable === whole.length) {
    const found = `none of ${whole.length} records has a usable ${keyPaths(feed).join(' and ')}`;
    yield failed('feed', found, "Check the feed's path and responseKey in highwater.yaml.");
  } else if (unusable > 0) {
    const found = `${unusable} of ${whole.length} records have no usable ${keyPaths(feed).join(' or ')}`;
    yield warning('feed', found, `Look at them in the topic ${feed.name}.dead-letters.`);
  } else yield* hiddenRows(feed, whole, deps, signal);
  yield* pathsNowhere(feed, first);
  const isCounted = feed.paging.style === 'page';
  const probe = await ask(0, 0);
  if (isCounted) yield* pagingFindings(feed, [probe, await ask(0, 1), await ask(0, 2)]);
  else yield* nextPageFindings(feed, first, source, signal);
  const more = first.next === null ? await saidOfMore(feed, source, signal) : null;
  if (more !== null) {
    const remedy =
      'Set paging of the feed in highwater.yaml so that it reaches them (docs/adding-a-feed.md): without it they are missing.';
    yield warning('feed', `no page follows the first one, but ${more}`, remedy);
  }
  yield* filterFindings(feed, probe, ask);
  if (feed.parameters.updatedSince === null) {
    const remedy = 'If the API has such a filter, name it (parameters.updatedSince); else poll less often.';
    yield warning('feed', 'no parameter for "updated since": every poll reads the whole feed', remedy);
  }
  yield ok('feed', isCounted ? await lengthNote(feed, whole, ask) : `${whole.length} records a page`);
}

async function* hiddenRows(feed: Feed, { ids }: PageFacts, deps: ScanDeps, signal: AbortSignal): Checks {
  const { parameters, updatedField, pageSize, name } = feed;
  const hidden = rowsWithoutTime(feed, unknownPaging(pageSize), (id) => ids.includes(id), deps, signal);
  for await (const { rows } of hidden)
    yield warning(
      'feed',
      `the first page without the parameter ${parameters.updatedSince} has ${rows.length} records without ${updatedField} that the first page with it lacks: it may hide them, so that only a reconcile sees them`,
      `They become dead letters (${name}.dead-letters). If they count, set parameters.updatedSince and updatedField to null.`,
    );
}

/** A misspelled path cannot be told from one that only some rows have. It changes the rows, whose keys are read by then. */
function* pathsNowhere(feed: Feed, { rows, omitted }: SourcePage): Checks {
  const found = { omit: omitted, ignore: removeMembers(rows, feed.ignore) };
  for (const setting of ['omit', 'ignore'] as const) {
    const nowhere = feed[setting].filter((path) => !found[setting]?.has(path));
    if (nowhere.length === 0) continue;
    const remedy = `Check their spelling in highwater.yaml: ${setting} is for members at exactly these paths.`;
    const text = `${setting}: ${nowhere.join(', ')} in none of ${rows.length} records`;
    yield warning('feed', text, remedy);
  }
}

function* pagingFindings(feed: Feed, pages: readonly [PageFacts, PageFacts, PageFacts]): Checks {
  const size = probeSize(feed);
  const [zero, one, two] = pages;
  const { page, pageSize } = feed.parameters;
  if (zero.length >= size && repeats(one, zero) && repeats(two, zero)) {
    const found = `pages 0, 1 and 2 are the same: the parameter ${page} is ignored`;
    const remedy = `Check the names of the paging parameters in highwater.yaml (${page}, ${pageSize}).`;
    yield failed('feed', found, remedy, 'SCAN_PAGING_IGNORED');
  }
  if (pageSize !== null && zero.length > size) {
    const found = `${zero.length} records came where ${size} were asked for: the parameter ${pageSize} is ignored`;
    yield warning('feed', found, `Check its name in highwater.yaml. Nothing is lost by it.`);
  } else yield ok('feed', 'page size honoured');
  if (!showOrder(pages)) {
    const remedy = 'Ask the vendor for an order, or poll less often. Nothing is lost by it.';
    yield warning('feed', 'not ordered by updated: every poll reads the whole feed', remedy);
  } else yield ok('feed', 'oldest first');
  const inferred = firstNumber(feed) === 0 ? inferPaging(zero, one, two) : { unit: 'page', firstPage: 1 };
  if (inferred === null) yield ok('feed', 'too little to tell what pages are counted in');
  else
    yield ok('feed', `${inferred.unit === 'page' ? 'pages' : 'records'} counted from ${inferred.firstPage}`);
}

/** The number of the first page, or of the first record, if the feed says it; else 0. */
function firstNumber({ paging }: Pick<Feed, 'paging'>): number {
  return paging.style === 'page' || paging.style === 'offset' ? (paging.first ?? 0) : 0;
}

/** For the styles that do not count pages: checks that the second page differs from the first. */
async function* nextPageFindings(feed: Feed, first: SourcePage, source: Source, signal: AbortSignal): Checks {
  const { paging, pageSize } = feed;
  if (paging.style === 'page' || paging.style === 'none') return;
  const usual = { updatedSince: 0, pageOffset: firstNumber(feed) + first.rows.length, pageSize };
  if (paging.style !== 'offset' && first.next === null) {
    const place = paging.style === 'cursor' ? (paging.from ?? paging.hasMore?.replace('!', '')) : paging.from;
    yield ok('feed', `no next page in the ${place === null ? 'header Link' : `response at ${place}`}`);
    return;
  }
  const request = first.next === null ? usual : { ...usual, continuation: first.next };
  const keys = rowKeys(feed);
  const second = pageFacts((await source.fetchPage(feed, request, signal)).rows, keys);
  if (second.length > 0 && repeats(second, pageFacts(first.rows, keys))) {
    const found = `the second page is the same as the first: the ${paging.style} is ignored`;
    const remedy = 'Check paging and parameters of the feed in highwater.yaml.';
    yield failed('feed', found, remedy, 'SCAN_PAGING_IGNORED');
  }
  yield ok(
    'feed',
    second.length === 0 ? 'no records behind the first page' : 'a second page follows the first',
  );
}

/**
 * What the first answer, behind which the feed's paging has found no page, says of more rows, for people; null: nothing, or the feed
 * counts its pages and goes on by itself.
 */
async function saidOfMore(feed: Feed, source: Source, signal: AbortSignal): Promise<string | null> {
  const { paging, responseKey } = feed;
  if (paging.style === 'page' || paging.style === 'offset') return null;
  let answer: unknown;
  const readRows: RowReader = (body, mayRead) => {
    const text = body.shared();
    if (mayRead(text)) answer = parsedJson(text.toString())?.value;
    return null;
  };
  // With this paging, the body may be read as it came, and the header is, too.
  const byHeader = { ...feed, paging: { style: 'link', from: null, followPath: true } as const };
  const { next } = await source.fetchPage(byHeader, { ...firstRequest(feed), readRows }, signal);
  const from = paging.style === 'none' ? undefined : paging.from;
  const mayMean = !from || valueAtPath(answer, from) === undefined;
  const signs = signsOfMore(answer, responseKey, next !== null)
    // On its last page, an API may name this page again.
    .filter(({ path, isSure }) => path !== from && (isSure || mayMean));
  if (signs.length === 0) return null;
  const verb = signs.some(({ isSure }) => isSure) ? 'says' : 'may say';
  const all = signs.slice(0, 5).map(({ said }) => said);
  return `the answer ${verb} that there are more rows: ${all.join(', ')}`;
}

/** If the first page is shorter than the page size, it is the whole feed, or the server has a cap. */
async function lengthNote(feed: Feed, whole: PageFacts, ask: Ask): Promise<string> {
  const { length } = whole;
  if (length >= feed.pageSize) return `${length} records a page`;
  // Pages or records from 0 or 1: this one lies behind the first page in each way of counting.
  const behind = await ask(0, length + 1, 1);
  if (behind.length === 0) return `${length} records in all`;
  return `at most ${length} records a page, where ${feed.pageSize} were asked for`;
}

/**
 * Asks from the latest second of a page on, or a day later if all rows have that second: everything older must be gone. Then asks from a
 * second before it, whose rows must be there.
 */
async function* filterFindings(feed: Feed, page: PageFacts, ask: Ask): Checks {
  const { greatest, least } = page;
  const name = feed.parameters.updatedSince;
  if (greatest === null || least === null || name === null) return;
  const one = feed.beginAt ? page : await ask(1, 0).catch(() => page);
  const fromOne = one.least ?? least;
  // Rows in no order begin with another one each time.
  if (fromOne < least && (one.ascending || (one.greatest ?? least) < least))
    yield warning(
      'feed',
      `the parameter ${name} shows records updated at ${fromOne} for second 1, but none before ${least} for second 0: the API takes 0 for no time, and a snapshot leaves them out`,
      'Set beginAt of the feed to 1970-01-02 in highwater.yaml.',
    );
  // A filter may count minutes or days. A time that is still to come may be refused.
  const since = greatest > least ? greatest : greatest + 86_400;
  const asked = ask(since, 0);
  const { least: shown } = await (greatest > least ? asked : asked.catch(() => ({ least: null })));
  const isEarlier = shown !== null && shown < since;
  // One that counts days shows later rows from some days later on.
  const later = isEarlier ? await ask(since + LONGEST_LAG, 0).catch(() => null) : null;
  if (isEarlier && later !== null && (later.least ?? Number.POSITIVE_INFINITY) <= shown)
    yield failed(
      'feed',
      `records updated at ${shown} came where ${since} and later were asked for: the parameter ${name} is ignored, and every poll reads the whole feed`,
      'Check its name in highwater.yaml (parameters.updatedSince), or ask the vendor.',
    );
  switch (await filterEdge(seenRows(page), async (second) => seenRows(await ask(second, 0)))) {
    case 'shown':
      return yield ok('feed', 'updated filter honoured');
    case 'unknown':
      return yield ok(
        'feed',
        'updated filter honoured, as far as it can be told: no answer shows whether it includes its own second',
      );
    case 'later':
      return yield warning(
        'feed',
        `the parameter ${name} leaves out rows of the very second that is asked for`,
        `Polls learn how much earlier they have to ask. If ${name} goes by the time of creation, updates wait for a reconcile: set parameters.updatedSince to a filter by ${feed.updatedField}, or to null.`,
      );
    case 'hidden':
      return yield warning(
        'feed',
        `the parameter ${name} leaves out rows that were updated later than what is asked for, so it goes by something else than ${feed.updatedField}`,
        `Set parameters.updatedSince of the feed to a filter by ${feed.updatedField}, or to null.`,
      );
  }
}

function seenRows({ ids, updated }: PageFacts): SeenRows {
  const known = ids.map((id, i) => [id, updated[i] ?? null] as const).filter(([, time]) => time !== null);
  return { ids: known.map(([id]) => id), times: known.map(([, time]) => time as number) };
}
