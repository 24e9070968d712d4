import { performance } from 'node:perf_hooks';
import PQueue from 'p-queue';
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

/** The requests that one token may send, for all feeds together: vendors count by token. */
export interface RequestBudget {
  /**
   * Sends one request when its turn comes.
   * @throws the signal's reason when aborted while it waits
   * @throws HighwaterError SOURCE_RATE_LIMITED when a hold lasts longer than `maxHoldMs`; SOURCE_CLOSED after `close`
   */
  run<T>(request: () => Promise<T>, use: RequestBudgetUse): Promise<T>;
  /** For so long, no request of any feed starts. A hold is never shortened. */
  holdFor(ms: number): void;
  /** Ends every wait. Callers have to end their requests under way; nothing else keeps the process alive afterwards. */
  close(): void;
}

interface Waiter {
  readonly use: RequestBudgetUse;
  /** Set once the caller no longer waits: its place in the queue then sends nothing. */
  gone: boolean;
  leave(reason: unknown): void;
}

const priorities: Readonly<Record<RequestPriority, number>> = { live: 1, backfill: 0 };

/**
 * p-queue keeps the order, and is paused until the next request may start. A request starts at once when its turn comes, and its answer
 * is passed on at once. Bottleneck waits for a timer three times before a request and once after it, at least 1 ms each. p-queue's
 * own intervals let two requests come close together at the edge of two intervals.
 */
export function createRequestBudget(options: RequestBudgetOptions): RequestBudget {
  const queue = new PQueue({ concurrency: options.maxConcurrent });
  const spacingMs = 1000 / options.requestsPerSecond;
  const waiters = new Set<Waiter>();
  let heldUntil = 0;
  let nextStart = 0;
  let resume: NodeJS.Timeout | undefined;
  let closed = false;
  const remainingHold = () => Math.max(heldUntil - performance.now(), 0);

  const startNoneBefore = (moment: number) => {
    nextStart = Math.max(nextStart, moment);
    queue.pause();
    clearTimeout(resume);
    const goOn = () => {
      // A timer may fire a moment early.
      if (performance.now() < nextStart) startNoneBefore(nextStart);
      else queue.start();
    };
    // Time has passed since `moment` was computed, and Node warns about negative timeouts.
    resume = setTimeout(goOn, Math.max(nextStart - performance.now(), 0));
    if (waiters.size === 0) resume.unref();
  };

  const takeTurn = <T>(request: () => Promise<T>, waiter: Waiter): Promise<T> =>
    queue.add(
      async () => {
        // Its caller has left.
        if (waiter.gone) throw closedError();
        waiters.delete(waiter);
        startNoneBefore(performance.now() + spacingMs);
        return request();
      },
      { priority: priorities[waiter.use.priority] },
    );

  return {
    async run(request, use) {
      use.signal.throwIfAborted();
      if (closed) throw closedError();
      if (remainingHold() > use.maxHoldMs()) throw heldTooLong(remainingHold());
      let leave: (reason: unknown) => void = () => {};
      const left = new Promise<never>((_, reject) => {
        leave = reject;
      });
      const waiter: Waiter = {
        use,
        gone: false,
        leave(reason) {
          waiter.gone = true;
          leave(reason);
        },
      };
      const onAbort = () => waiter.leave(use.signal.reason);
      use.signal.addEventListener('abort', onAbort, { once: true });
      waiters.add(waiter);
      resume?.ref();
      try {
        return await Promise.race([takeTurn(request, waiter), left]);
      } finally {
        use.signal.removeEventListener('abort', onAbort);
        waiters.delete(waiter);
        if (waiters.size === 0) resume?.unref();
      }
    },
    holdFor(ms) {
      const until = performance.now() + ms;
      if (closed || ms <= 0 || until <= heldUntil) return;
      heldUntil = until;
      startNoneBefore(until);
      for (const waiter of waiters) {
        if (ms > waiter.use.maxHoldMs()) waiter.leave(heldTooLong(ms));
      }
    },
    close() {
      if (closed) return;
      closed = true;
      clearTimeout(resume);
      queue.clear();
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
