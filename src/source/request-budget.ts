import { performance } from 'node:perf_hooks';
import { HighwaterError } from '../errors';

/** A live poll goes before a backfill that waits for the same token. */
export type RequestPriority = 'live' | 'backfill';

export interface RequestBudgetOptions {
  readonly requestsPerSecond: number;
  /** Requests under way at once. */
  readonly maxConcurrent: number;
}

export interface RequestBudgetUse {
  readonly priority: RequestPriority;
  readonly signal: AbortSignal;
  /** Waits no longer than this for a hold to end, ms. */
  readonly maxHoldMs: () => number;
}

export type RequestBudget = ReturnType<typeof createRequestBudget>;

interface Waiter {
  readonly use: RequestBudgetUse;
  start(): void;
  leave(reason: unknown): void;
}

/**
 * The requests that one token may send, for all feeds together: vendors count by token. A request starts at once when its turn comes, and
 * its answer is passed on at once. Only the time between two starts needs a timer.
 */
export function createRequestBudget({ requestsPerSecond, maxConcurrent }: RequestBudgetOptions) {
  /** In the order in which they came. */
  const waiters = new Set<Waiter>();
  let underWay = 0;
  let heldUntil = 0;
  let nextStart = 0;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  const remainingHold = () => Math.max(heldUntil - performance.now(), 0);

  function startNext(): void {
    clearTimeout(timer);
    const waiter = [...waiters].find(({ use }) => use.priority === 'live') ?? [...waiters][0];
    if (waiter === undefined || underWay >= maxConcurrent) return;
    const waitMs = Math.max(nextStart, heldUntil) - performance.now();
    if (waitMs > 0) {
      // A timer may fire a moment early, and then waits again.
      timer = setTimeout(startNext, waitMs);
      return;
    }
    waiters.delete(waiter);
    underWay++;
    nextStart = performance.now() + 1000 / requestsPerSecond;
    waiter.start();
    startNext();
  }

  function ended(): void {
    underWay--;
    startNext();
  }

  return {
    /**
     * Sends one request when its turn comes.
     * @throws the signal's reason when aborted while it waits
     * @throws HighwaterError SOURCE_RATE_LIMITED when a hold lasts longer than `maxHoldMs`; SOURCE_CLOSED after `close`
     */
    async run<T>(request: () => Promise<T>, use: RequestBudgetUse): Promise<T> {
      use.signal.throwIfAborted();
      if (isClosed) throw closedError();
      if (remainingHold() > use.maxHoldMs()) throw heldTooLong(remainingHold());
      let onAbort = (): void => undefined;
      const answer = new Promise<T>((resolve, reject) => {
        const waiter: Waiter = {
          use,
          start: () => request().finally(ended).then(resolve, reject),
          leave(reason) {
            waiters.delete(waiter);
            // Nothing else keeps the process alive.
            if (waiters.size === 0) clearTimeout(timer);
            reject(reason);
          },
        };
        onAbort = () => waiter.leave(use.signal.reason);
        use.signal.addEventListener('abort', onAbort, { once: true });
        waiters.add(waiter);
        startNext();
      });
      return answer.finally(() => use.signal.removeEventListener('abort', onAbort));
    },
    /** For so long, no request of any feed starts. A hold is never shortened. */
    holdFor(ms: number): void {
      const until = performance.now() + ms;
      if (isClosed || ms <= 0 || until <= heldUntil) return;
      heldUntil = until;
      for (const waiter of waiters) if (ms > waiter.use.maxHoldMs()) waiter.leave(heldTooLong(ms));
      startNext();
    },
    /** Ends every wait. Callers have to end their requests under way; nothing else keeps the process alive afterwards. */
    close(): void {
      isClosed = true;
      for (const waiter of waiters) waiter.leave(closedError());
    },
  };
}

function heldTooLong(ms: number): HighwaterError {
  return new HighwaterError(
    'SOURCE_RATE_LIMITED',
    `The API asked for a pause that lasts another ${Math.ceil(ms / 1000)} s; no request was sent.`,
  );
}

function closedError(): HighwaterError {
  return new HighwaterError('SOURCE_CLOSED', 'The client of the API is closed.');
}
