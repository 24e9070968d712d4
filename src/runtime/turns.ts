import { pause } from '../async/wait';
import type { Feed } from '../feeds/feed';
import { poll } from '../pipeline/poll';
import { pollRound } from '../pipeline/round';
import type { OwnedFeed } from './owned-feed';

/** What a long command lets happen: the feed's own polls, when they are due. */
export interface Turns {
  /** To be called between two pages. */
  between(): Promise<void>;
  /** Lets so many ms pass. */
  rest(ms: number): Promise<void>;
  /** Polls now. */
  poll(): Promise<void>;
}

/**
 * Of a process that owns the feed for one command alone. It polls as a publisher would: records that move while a long command
 * reads are seen by polls.
 * @param quiet nothing may be published, so there are no polls
 */
export function turnsAlone(feed: Feed, { deps }: OwnedFeed, quiet: boolean, signal: AbortSignal): Turns {
  let nextPollAt = performance.now() + feed.pollIntervalMs;
  const pollNow = async (): Promise<void> => {
    if (quiet) return;
    await poll(feed, deps, pollRound(feed, deps.state.offset, false, deps), signal);
    nextPollAt = performance.now() + feed.pollIntervalMs;
  };
  return {
    poll: pollNow,
    async between() {
      if (performance.now() >= nextPollAt && deps.state.offset.snapshot === 'complete') await pollNow();
    },
    async rest(ms) {
      await pause(ms, signal);
      await pollNow();
    },
  };
}
