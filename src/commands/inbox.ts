import type { Command, Facts, Outcome } from './command';

/** A command on its way through the owner of the feed. */
export interface Request {
  readonly command: Command;
  /** While it is carried out, now and then: a line for people, and figures. */
  progress(summary: string, facts: Facts): void;
  /** Once, at the end. */
  answer(outcome: Outcome): void;
}

export type Inbox = ReturnType<typeof createInbox>;

/** Commands that wait for the loop of one feed, in their order. */
export function createInbox() {
  const waiting: Request[] = [];
  let wake = (): void => undefined;
  return {
    put(request: Request): void {
      waiting.push(request);
      wake();
    },
    /** The first one, taken out; null when there is none. */
    take: (): Request | null => waiting.shift() ?? null,
    /** The first request, which stays in the inbox. */
    first: (): Request | null => waiting[0] ?? null,
    takeAll: (): readonly Request[] => waiting.splice(0),
    /** Resolves at once while something waits, else with the next `put` or the signal. */
    filled(signal: AbortSignal): Promise<void> {
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
