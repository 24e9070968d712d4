import { pause } from '../wait';

/** What a long command lets happen: the feed's own polls, when they are due. */
export interface Turns {
  /** To be called between two pages. */
  between(): Promise<void>;
  /** Lets so many ms pass. */
  rest(ms: number): Promise<void>;
}

/** Of a process that owns the feed for one command alone. */
export function noTurns(signal: AbortSignal): Turns {
  return { between: async () => {}, rest: (ms) => pause(ms, signal) };
}
