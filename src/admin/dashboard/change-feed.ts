import type { Feed } from '../../feeds/feed';
import { pause } from '../../wait';
import { createBell } from './bell';
import { type ReadChange, readChange, readTransition } from './change-view';
import { type FollowerDeps, followLog } from './log-follower';
import { type RecentChanges, recentChanges } from './recent-changes';
import type { TransitionView } from './view';

/** The changes of all feeds for those who look, read from the log while somebody does. */
export interface ChangeFeed extends Pick<RecentChanges, 'first' | 'after' | 'last'> {
  /** Resolves at the next change. */
  readonly moved: Promise<void>;
  /**
   * Begins to read, or goes on.
   * @returns once the last ones there are were read, or that took too long
   */
  begin(): Promise<void>;
  /** Ends reading, and forgets what was read. */
  end(): void;
}

/** A transition of the same transaction may be read a moment after its change, from another topic. */
const JOIN_MS = 300;
const TICK_MS = 100;
/** The last ones there are have come when nothing has for so long. */
const QUIET_MS = 300;
const LONGEST_BEGIN_MS = 2_500;
/** Transitions that wait for their change. */
const MOST_TRANSITIONS = 1_000;

export function changeFeed(feeds: readonly Feed[], deps: FollowerDeps): ChangeFeed {
  const recent = recentChanges();
  const bell = createBell();
  let reading: { readonly over: AbortController; readonly begun: Promise<void> } | null = null;

  function start(): { readonly over: AbortController; readonly begun: Promise<void> } {
    const over = new AbortController();
    const { signal } = over;
    const since = performance.now();
    let lastRecord = since;
    let isBegun = false;
    const topics = { all: 0, opened: 0, expected: 0 };
    let waiting: { readonly change: ReadChange; readonly since: number }[] = [];
    const transitions = new Map<string, TransitionView[]>();

    topics.all = followLog(
      feeds,
      deps,
      {
        record(feed, record) {
          lastRecord = performance.now();
          if (record.type?.endsWith('.Envelope')) {
            waiting.push({ change: readChange(feed, record), since: lastRecord });
            return;
          }
          const transition = readTransition(feed, record);
          if (transition === null) return;
          const of = transitions.get(transition.causedBy) ?? [];
          transitions.set(transition.causedBy, [...of, transition.view]);
          if (transitions.size > MOST_TRANSITIONS) transitions.delete(transitions.keys().next().value!);
        },
        opened(expects) {
          topics.opened++;
          if (expects) topics.expected++;
        },
        passedOver: (_, count) => recent.leaveOut(count),
      },
      signal,
    );

    function show(due: readonly (typeof waiting)[number][]): void {
      if (due.length === 0) return;
      for (const { change } of due) {
        recent.add({ ...change.view, transitions: transitions.get(change.eventId) ?? [] });
        transitions.delete(change.eventId);
      }
      bell.ring();
    }

    async function settle(): Promise<void> {
      for (;;) {
        await pause(TICK_MS, signal);
        const now = performance.now();
        const isQuiet = now - lastRecord >= QUIET_MS && waiting.length > 0;
        const isRead = topics.opened === topics.all && (topics.expected === 0 || isQuiet);
        if (signal.aborted || isRead || now - since >= LONGEST_BEGIN_MS) break;
      }
      // Several topics were read side by side.
      waiting.sort((a, b) => a.change.view.observedAtMs - b.change.view.observedAtMs);
      show(waiting);
      waiting = [];
      isBegun = true;
    }

    const timer = setInterval(() => {
      if (!isBegun) return;
      const now = performance.now();
      const due = waiting.filter((one) => now - one.since >= JOIN_MS);
      if (due.length > 0) waiting = waiting.slice(due.length);
      show(due);
    }, TICK_MS).unref();
    signal.addEventListener('abort', () => clearInterval(timer), { once: true });
    return { over, begun: settle() };
  }

  return {
    first: recent.first,
    after: recent.after,
    get last() {
      return recent.last;
    },
    get moved() {
      return bell.next;
    },
    begin() {
      reading ??= start();
      return reading.begun;
    },
    end() {
      reading?.over.abort();
      reading = null;
      recent.forget();
    },
  };
}
