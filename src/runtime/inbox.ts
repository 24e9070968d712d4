import type { HighwaterError } from '../errors';

/** What an operator can ask of the owner of a feed. */
export type Command =
  | { readonly name: 'pause' }
  | { readonly name: 'resume' }
  /** A new incarnation: the images are removed, and a first snapshot begins. */
  | { readonly name: 'reset' }
  /** All records are read again and shown: `r`, or `u` where they differ. */
  | { readonly name: 'snapshot' }
  | { readonly name: 'reconcile'; readonly dryRun: boolean; readonly allowDeletes: number | null }
  /** Calendar dates, both included. */
  | { readonly name: 'backfill'; readonly from: string; readonly to: string }
  | { readonly name: 'retry-dead-letters' };

/** What it came to: a line for people, and figures for programs. */
export type Outcome =
  | { readonly ok: true; readonly summary: string; readonly facts: Facts }
  | { readonly ok: false; readonly error: HighwaterError };

export type Facts = Readonly<Record<string, string | number | boolean>>;

/** A command on its way through the owner of the feed. */
export interface Request {
  readonly command: Command;
  /** While it is carried out, now and then: a line for people, and figures. */
  progress(summary: string, facts: Facts): void;
  /** Once, at the end. */
  answer(outcome: Outcome): void;
}

/** Commands that wait for the loop of one feed, in their order. */
export interface Inbox {
  put(request: Request): void;
  /** The first one, taken out; null when there is none. */
  take(): Request | null;
  /** The first one, left where it is. */
  first(): Request | null;
  /** Resolves at once while something waits, else with the next `put` or the signal. */
  filled(signal: AbortSignal): Promise<void>;
}

export function createInbox(): Inbox {
  const waiting: Request[] = [];
  let wake = (): void => undefined;
  return {
    put(request) {
      waiting.push(request);
      wake();
    },
    take: () => waiting.shift() ?? null,
    first: () => waiting[0] ?? null,
    filled(signal) {
      if (waiting.length > 0 || signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        wake = () => {
          signal.removeEventListener('abort', wake);
          resolve();
        };
        signal.addEventListener('abort', wake, { once: true });
      });
    },
  };
}
