import { pause } from '../../async/wait';
import { type DecodedRecord, recordDecoder } from '../../avro/codec/record-decoder';
import type { SchemaRegistry } from '../../avro/registry/registry';
import type { Feed } from '../../feeds/feed';
import { feedTopics } from '../../log/topics';
import { type ReadChange, readChange, readTransition } from './change-view';
import { allowanceOf, type FollowerDeps, followTopic } from './log-follower';
import { type RecentChanges, recentChanges } from './recent-changes';
import type { ChangeView, TransitionView } from './view';

/** The changes of all feeds for the connected pages, read from the log only while a page is connected. */
export interface ChangeFeed {
  /**
   * Begins to read, or goes on.
   * @returns once the last ones there are were read, or that took too long. Never fails
   */
  begin(): Promise<Pick<RecentChanges, 'first' | 'after' | 'last'>>;
  /** Ends reading and drops the records read so far. */
  end(): void;
}

export interface ChangeFeedDeps extends FollowerDeps {
  readonly registry: SchemaRegistry;
  readonly topicPrefix: string;
}

/** Limit for all feeds together; transitions are counted apart. */
const MOST_PER_SECOND = 200;
/** A transition of the same transaction may be read a moment after its change, from another topic. */
const JOIN_MS = 300;
const TICK_MS = 100;
const LONGEST_BEGIN_MS = 2_500;
/** Transitions that wait for their change. */
const MOST_TRANSITIONS = 1_000;

/** @param moved called when there are changes to show */
export function changeFeed(feeds: readonly Feed[], deps: ChangeFeedDeps, moved: () => void): ChangeFeed {
  const recent = recentChanges();
  const decode = recordDecoder(deps.registry);
  let reading: { readonly over: AbortController; readonly begun: ReturnType<ChangeFeed['begin']> } | null =
    null;

  /** Other instances' changes are read like this one's, and changes of commands like changes of polls. */
  async function follow(joined: JoinedChanges, signal: AbortSignal): Promise<void> {
    const allowances = { changes: allowanceOf(MOST_PER_SECOND), transitions: allowanceOf(MOST_PER_SECOND) };
    const topics = feeds.flatMap((feed) => {
      const { changes, transitions } = feedTopics(feed, deps.topicPrefix);
      const record = async (one: Parameters<typeof decode>[0]) => joined.add(feed, await decode(one));
      const others = new Set(transitions.map(({ name }) => name).filter((name) => name !== changes.name));
      return [
        { topic: changes.name, allowance: allowances.changes, record, passedOver: recent.leaveOut },
        ...[...others].map((topic) => ({ topic, allowance: allowances.transitions, record })),
      ];
    });
    await Promise.all(topics.map((topic) => followTopic(topic, deps, signal)));
  }

  async function begin(signal: AbortSignal): Promise<void> {
    const joined = joinedChanges();
    const show = (changes: readonly NewChange[]): void => {
      for (const change of changes) recent.add(change);
      if (changes.length > 0) moved();
    };
    await Promise.race([follow(joined, signal), pause(LONGEST_BEGIN_MS, signal)]);
    if (signal.aborted) return;
    // Several topics were read side by side.
    show(joined.take(0).sort((a, b) => a.observedAtMs - b.observedAtMs));
    const timer = setInterval(() => show(joined.take(JOIN_MS)), TICK_MS).unref();
    signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  }

  return {
    begin() {
      if (reading === null) {
        const over = new AbortController();
        reading = { over, begun: begin(over.signal).then(() => recent) };
      }
      return reading.begun;
    },
    end() {
      reading?.over.abort();
      reading = null;
      recent.forget();
    },
  };
}

type NewChange = Omit<ChangeView, 'n'>;

/** Changes that wait for their transitions. */
interface JoinedChanges {
  add(feed: Feed, record: DecodedRecord): void;
  /** Takes out the changes that have waited at least this long. */
  take(waitedMs: number): NewChange[];
}

function joinedChanges(): JoinedChanges {
  let waiting: { readonly change: ReadChange; readonly sinceMs: number }[] = [];
  /** By the id of the change. */
  const transitions = new Map<string, TransitionView[]>();
  return {
    add(feed, record) {
      if (record.type?.endsWith('.Envelope')) {
        waiting.push({ change: readChange(feed, record), sinceMs: performance.now() });
        return;
      }
      const transition = readTransition(feed, record);
      if (transition === null) return;
      const of = transitions.get(transition.causedBy) ?? [];
      transitions.set(transition.causedBy, [...of, transition.view]);
      if (transitions.size > MOST_TRANSITIONS) transitions.delete(transitions.keys().next().value!);
    },
    take(waitedMs) {
      const until = performance.now() - waitedMs;
      const due = waiting.filter(({ sinceMs }) => sinceMs <= until);
      waiting = waiting.slice(due.length);
      return due.map(({ change: { eventId, view } }) => {
        const change = { ...view, transitions: transitions.get(eventId) ?? [] };
        transitions.delete(eventId);
        return change;
      });
    },
  };
}
