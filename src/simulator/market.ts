import type { Behaviour, BehaviourChange } from './behaviour';
import { changeBehaviour, defaultBehaviour } from './behaviour';
import { endpoints, type FeedName, feedNames } from './endpoints';
import { type Answer, badRequest, pageOf } from './http/answer';
import { createFaultBook, type Fault, type FaultRule } from './http/faults';
import { type QueryText, readQuery } from './http/query';
import { createRequestLog, type SeenRequest } from './http/request-log';
import { createRandom, hashText, type Random } from './random';
import { selectWindow, type Window } from './store/select';
import { createStore, type FeedStore } from './store/store';

/** Called when a request has arrived, before it is answered: a place to change records in the middle of a scan. */
export type RequestHook = (number: number, request: SeenRequest) => void | Promise<void>;

export interface MarketOptions {
  /** The same seed makes the same records, shuffles and faults. Default 1. */
  readonly seed?: number;
  /** Accepted access tokens, default `simulator-token`; null: any. */
  readonly tokens?: readonly string[] | null;
  /** Switches of all feeds, and of single ones over that. */
  readonly behaviour?: BehaviourChange;
  readonly behaviours?: Partial<Record<FeedName, BehaviourChange>>;
  readonly faults?: readonly FaultRule[];
  readonly rateLimit?: RateLimit;
  readonly onRequest?: RequestHook;
  /** Milliseconds; default the real clock. */
  readonly clock?: () => number;
  /** Keep every version ever written, for `history` and stale answers. Default true. */
  readonly keepHistory?: boolean;
}

export interface RateLimit {
  readonly perSecond: number;
  /** Requests that may come at once after a rest. */
  readonly burst: number;
}

export type Market = ReturnType<typeof createMarket>;

/** Everything the server knows, without HTTP. */
export function createMarket(options: MarketOptions) {
  const { seed = 1, clock = Date.now, tokens = ['simulator-token'], keepHistory = true } = options;
  const behaviours: Record<FeedName, Behaviour> = {
    insights: defaultBehaviour,
    analysts: defaultBehaviour,
    ipos: defaultBehaviour,
  };
  function behave(change: BehaviourChange, feed?: FeedName): void {
    for (const name of feed === undefined ? feedNames : [feed]) {
      behaviours[name] = changeBehaviour(behaviours[name], change);
    }
  }
  behave(options.behaviour ?? {});
  for (const feed of feedNames) behave(options.behaviours?.[feed] ?? {}, feed);
  const storeOf = (feed: FeedName): FeedStore =>
    createStore(feed, seed, createRandom(seed ^ hashText(feed)), clock, () => behaviours[feed], keepHistory);
  const stores = { insights: storeOf('insights'), analysts: storeOf('analysts'), ipos: storeOf('ipos') };
  const faults = createFaultBook(createRandom(seed ^ hashText('faults')));
  for (const rule of options.faults ?? []) faults.add(rule);
  let hook = options.onRequest ?? null;

  return {
    seed,
    stores,
    faults,
    requests: createRequestLog(),
    cached: createCache(),
    clock,
    /** A token that is accepted. */
    token: tokens?.[0] ?? 'simulator-token',
    /** The server's clock as this endpoint shows it, ms. */
    serverMs: (feed: FeedName): number => clock() + behaviours[feed].clockSkew * 1000,
    behaviour: (feed: FeedName): Behaviour => behaviours[feed],
    /** Changes switches of one feed, or of all. @throws ZodError for a switch that does not exist */
    behave,
    accepts: (token: string): boolean => tokens === null || tokens.includes(token),
    takeFromBudget: createBudget(options.rateLimit ?? null, clock),
    async onRequest(request: SeenRequest): Promise<void> {
      await hook?.(request.number, request);
    },
    /** Replaces the hook that every request calls before it is answered. */
    hook(next: RequestHook | null): void {
      hook = next;
    },
    answerPage(feed: FeedName, text: QueryText, requestNumber: number, fault: Fault | null): Page {
      const endpoint = endpoints[feed];
      const behaviour = behaviours[feed];
      const query = readQuery(endpoint, text);
      const withoutRows = (answer: Answer): Page => ({ answer, rows: 0 });
      if ('status' in query) return withoutRows(query);
      if (query.page < behaviour.firstPage && behaviour.pageZero !== 'first')
        return withoutRows(
          behaviour.pageZero === 'empty' ? pageOf(endpoint, behaviour, []) : badRequest('Invalid page'),
        );

      // Each request has randomness of its own, so that an answer depends on its number and not on what ran before.
      const random = createRandom(seed ^ hashText(`request ${requestNumber}`));
      const store = stores[feed];
      const view = fault?.kind === 'stale' ? store.viewBehind(fault.writes) : store.view();
      const window = selectWindow(endpoint, view, query, behaviour, random);
      const range = pageRange(query.page, query.pageSize, window.length, behaviour);
      if (range === null) return withoutRows(badRequest('Page offset out of range'));
      const to = fault?.kind === 'short' ? Math.min(range.to, range.from + fault.rows) : range.to;
      const rows = window.rows(range.from, to).map(({ bytes }) => bytes!);
      const made = pageOf(endpoint, behaviour, rows);
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

/**
 * A cache on the way to the API, which pays no heed to what a request says of caches.
 * @returns returns the answer to the same address, with its age, if it is not older than `seconds`; else a new one
 */
function createCache() {
  const kept = new Map<string, { readonly page: Page; readonly madeMs: number }>();
  return (address: string, nowMs: number, seconds: number, make: () => Page): Page => {
    const old = kept.get(address);
    const age = old === undefined ? 0 : (nowMs - old.madeMs) / 1000;
    if (old !== undefined && age >= 0 && age < seconds) {
      const { answer } = old.page;
      const headers = { ...answer.headers, age: `${Math.floor(age)}` };
      return { ...old.page, answer: { ...answer, headers } };
    }
    const page = make();
    if (seconds > 0) kept.set(address, { page, madeMs: nowMs });
    return page;
  };
}

/**
 * A bucket for each access token, filled evenly.
 * @returns takes a request out of a token's bucket: null if there was one, else when to come again
 */
function createBudget(limit: RateLimit | null, clock: () => number) {
  const buckets = new Map<string, { left: number; atMs: number }>();
  return (token: string) => {
    if (limit === null) return null;
    const now = clock();
    const bucket = buckets.get(token) ?? { left: limit.burst, atMs: now };
    const filled = bucket.left + ((now - bucket.atMs) / 1000) * limit.perSecond;
    bucket.left = Math.min(limit.burst, filled);
    bucket.atMs = now;
    buckets.set(token, bucket);
    if (bucket.left < 1) return { as: 'seconds' as const, seconds: (1 - bucket.left) / limit.perSecond };
    bucket.left -= 1;
    return null;
  };
}
