import type { Behaviour, BehaviourChange } from './behaviour';
import { changeBehaviour, defaultBehaviour } from './behaviour';
import { endpoints, type FeedName, feedNames } from './endpoints';
import { type Answer, badRequest, pageOf } from './http/answer';
import { createFaultBook, type Fault, type FaultBook } from './http/faults';
import { type QueryText, readQuery } from './http/query';
import { createBudget, type RateLimit } from './http/rate-limit';
import { createRequestLog, type RequestLog, type SeenRequest } from './http/request-log';
import { createRandom, hashText, type Random } from './random';
import type { RecordBytes } from './store/record-bytes';
import { selectWindow, type Window } from './store/select';
import { createStore, type FeedStore } from './store/store';
import { parseVersion } from './store/versions';
import type { Version } from './store/view';

/** Called when a request has arrived, before it is answered: a place to change records in the middle of a scan. */
export type RequestHook = (number: number, request: SeenRequest) => void | Promise<void>;

export interface MarketOptions {
  readonly seed: number;
  readonly clock: () => number;
  /** Accepted tokens; null: any. */
  readonly tokens: readonly string[] | null;
  readonly requestsKept: number;
  readonly keepHistory: boolean;
  readonly rateLimit: RateLimit | null;
  readonly onRequest: RequestHook | null;
}

/** Everything the server knows, without HTTP. */
export interface Market {
  readonly stores: Readonly<Record<FeedName, FeedStore>>;
  readonly faults: FaultBook;
  readonly requests: RequestLog;
  readonly cache: Cache;
  clock(): number;
  /** The server's clock as this endpoint shows it, ms. */
  serverMs(feed: FeedName): number;
  behaviour(feed: FeedName): Behaviour;
  behave(change: BehaviourChange, feed?: FeedName): void;
  accepts(token: string): boolean;
  rateLimit(): RateLimit | null;
  limitRate(limit: RateLimit | null): void;
  /** @returns null when the request is within the token's budget, else the seconds until it would be */
  takeFromBudget(token: string): number | null;
  onRequest(request: SeenRequest): Promise<void>;
  hook(hook: RequestHook | null): void;
  answerPage(
    feed: FeedName,
    query: QueryText,
    requestNumber: number,
    fault: Fault | null,
  ): { answer: Answer; rows: number };
}

export function createMarket(options: MarketOptions): Market {
  const { seed, clock } = options;
  const behaviours: Record<FeedName, Behaviour> = {
    insights: defaultBehaviour,
    analysts: defaultBehaviour,
    ipos: defaultBehaviour,
  };
  const storeOf = (feed: FeedName): FeedStore =>
    createStore({
      feed,
      seed,
      random: createRandom(seed ^ hashText(feed)),
      clock,
      behaviour: () => behaviours[feed],
      keepHistory: options.keepHistory,
    });
  const stores = { insights: storeOf('insights'), analysts: storeOf('analysts'), ipos: storeOf('ipos') };
  let budget = createBudget(options.rateLimit, clock);
  let hook = options.onRequest;

  return {
    stores,
    faults: createFaultBook(createRandom(seed ^ hashText('faults'))),
    requests: createRequestLog(options.requestsKept),
    cache: createCache(),
    clock,
    serverMs: (feed) => clock() + behaviours[feed].clockSkew * 1000,
    behaviour: (feed) => behaviours[feed],
    behave(change, feed) {
      for (const name of feed === undefined ? feedNames : [feed]) {
        behaviours[name] = changeBehaviour(behaviours[name], change);
      }
    },
    accepts: (token) => options.tokens === null || options.tokens.includes(token),
    rateLimit: () => budget.limit,
    limitRate(limit) {
      budget = createBudget(limit, clock);
    },
    takeFromBudget: (token) => budget.take(token),
    async onRequest(request) {
      await hook?.(request.number, request);
    },
    hook(next) {
      hook = next;
    },
    answerPage(feed, text, requestNumber, fault) {
      const endpoint = endpoints[feed];
      const behaviour = behaviours[feed];
      const query = readQuery(endpoint, behaviour, text, (id) => stores.analysts.get(id)?.name_full);
      if ('status' in query) return { answer: query, rows: 0 };
      if (query.page < behaviour.firstPage && behaviour.pageZero !== 'first')
        return behaviour.pageZero === 'empty'
          ? { answer: pageOf(endpoint, behaviour, []), rows: 0 }
          : { answer: badRequest('Invalid page'), rows: 0 };

      // Each request has randomness of its own, so that an answer depends on its number and not on what ran before.
      const random = createRandom(seed ^ hashText(`request ${requestNumber}`));
      const store = stores[feed];
      const view = fault?.kind === 'stale' ? store.viewBehind(fault.writes) : store.view();
      const window = selectWindow(endpoint, view, query, behaviour, random);
      const range = pageRange(query.page, query.pageSize, window.length, behaviour);
      if (range === null) return { answer: badRequest('Page offset out of range'), rows: 0 };
      const to = fault?.kind === 'short' ? Math.min(range.to, range.from + fault.rows) : range.to;
      const rows = window.rows(range.from, to);
      const records = rows.map((row) => row.bytes!);
      const shown = query.fields === null ? records : withFields(rows, query.fields);
      const made = pageOf(endpoint, behaviour, shown);
      moveRows(store, window, behaviour, random);
      return { answer: made, rows: rows.length };
    },
  };
}

/** Positions of a page's rows in the window, from `from` up to, not including, `to`. Null: paging does not reach it. */
function pageRange(
  page: number,
  pageSize: number,
  length: number,
  behaviour: Behaviour,
): { readonly from: number; readonly to: number } | null {
  const rows = Math.min(pageSize, behaviour.pageCap ?? pageSize);
  const step = behaviour.capStep === 'cap' ? rows : pageSize;
  const counted = Math.max(0, page - behaviour.firstPage);
  const asked = behaviour.ignorePaging ? 0 : behaviour.paging === 'offset' ? counted : counted * step;
  const isPast = asked >= length && behaviour.pastEnd !== 'empty';
  const last = Math.floor(Math.max(0, length - 1) / step) * step;
  const from = isPast ? (behaviour.pastEnd === 'first' ? 0 : last) : asked;
  if (behaviour.positionLimit !== null && from > behaviour.positionLimit) return null;
  return { from, to: from + rows };
}

function withFields(rows: readonly Version[], fields: readonly string[]): RecordBytes[] {
  return rows.map((row) => {
    const chosen = Object.fromEntries(
      Object.entries(parseVersion(row)).filter(([name]) => fields.includes(name)),
    );
    const bytes = Buffer.from(JSON.stringify(chosen));
    return { slab: bytes, start: 0, end: bytes.length };
  });
}

/** Rows that change while they are being read: they leave their place and come back at the end. */
function moveRows(store: FeedStore, window: Window, behaviour: Behaviour, random: Random): void {
  const count = Math.min(behaviour.moveRowsPerRequest, window.length);
  const moved: string[] = [];
  if (behaviour.moveWhich === 'first') {
    for (const row of window.rows(0, count)) moved.push(row.key);
  } else {
    for (let i = 0; i < count; i++) {
      const at = random.int(0, window.length - 1);
      for (const row of window.rows(at, at + 1)) moved.push(row.key);
    }
  }
  for (const key of moved) store.touch(key);
}

interface Page {
  readonly answer: Answer;
  readonly rows: number;
}

/** A cache on the way to the API, which pays no heed to what a request says of caches. */
export interface Cache {
  /** @returns the answer to the same address, with its age, if it is not older than `seconds`; else a new one */
  answer(address: string, nowMs: number, seconds: number, make: () => Page): Page;
}

function createCache(): Cache {
  const kept = new Map<string, { readonly page: Page; readonly madeMs: number }>();
  return {
    answer(address, nowMs, seconds, make) {
      const old = kept.get(address);
      const age = old === undefined ? 0 : (nowMs - old.madeMs) / 1000;
      if (old !== undefined && age >= 0 && age < seconds) {
        const { answer } = old.page;
        return {
          ...old.page,
          answer: { ...answer, headers: { ...answer.headers, age: `${Math.floor(age)}` } },
        };
      }
      const page = make();
      if (seconds > 0) kept.set(address, { page, madeMs: nowMs });
      return page;
    },
  };
}
