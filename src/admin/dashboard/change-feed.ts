import { pause } from '../../async/wait';
import { type DecodedRecord, recordDecoder } from '../../avro/codec/record-decoder';
import type { SchemaRegistry } from '../../avro/registry/registry';
import type { Feed } from '../../feeds/feed';
import { type ShownEnvelope, shownChange, shownTransition } from '../../format/display';
import { vendorText, vendorTexts } from '../../format/vendor-text';
import type { CommitLog, LogRecord } from '../../log/commit-log';
import { feedTopics } from '../../log/topics';
import type { Logger } from '../../logging/logger';
import type { Origin } from '../../types';
import type { ChangesView, ChangeView, TransitionView } from './view';

/** What reads the log for the dashboard. */
export interface LogDeps {
  readonly log: CommitLog;
  readonly logger: Logger;
  readonly registry: SchemaRegistry;
  readonly topicPrefix: string;
}

/** How many changes are kept, how many a page is shown when it connects for the first time, and how many are in one event. */
const [KEPT, FIRST, MOST_AT_ONCE] = [300, 100, 200];
/** Limit for all feeds together; transitions are not counted. */
const MOST_PER_SECOND = 200;
/** A transition of the same transaction may be read a moment after its change, from another topic. */
const JOIN_MS = 300;
const TICK_MS = 100;
const LONGEST_BEGIN_MS = 2_500;
/** Transitions that wait for their change. */
const MOST_TRANSITIONS = 1_000;

/**
 * The changes of all feeds for the connected pages, read from the log only while a page is connected.
 */
export function changeFeed(feeds: readonly Feed[], deps: LogDeps) {
  const decode = recordDecoder(deps.registry);
  /** The last changes of all feeds, in the order in which they were read. */
  let kept: ChangeView[] = [];
  /** Counts the changes that were left out, too. */
  let seen = 0;
  let reading: { readonly over: AbortController; readonly begun: Promise<void> } | null = null;

  function show(changes: readonly NewChange[]): void {
    for (const change of changes) kept.push({ ...change, n: ++seen });
    if (kept.length > 2 * KEPT) kept = kept.slice(-KEPT);
  }

  const topics = feeds.map((feed) => feedTopics(feed, deps.topicPrefix));
  const feedOf = new Map(
    topics.flatMap(({ changes, transitions }, i) =>
      [changes, ...transitions].map(({ name }) => [name, feeds[i]!] as const),
    ),
  );
  const counted = new Set(topics.map(({ changes }) => changes.name));

  async function begin(signal: AbortSignal): Promise<void> {
    const joined = joinedChanges();
    const followed: Followed = {
      topics: [...feedOf.keys()],
      counted,
      // Other instances' changes are read like this one's, and changes of commands like changes of polls.
      record: async (one) => joined.add(feedOf.get(one.topic)!, await decode(one)),
      passedOver(count) {
        seen += count;
      },
    };
    await Promise.race([followTopics(followed, deps, signal), pause(LONGEST_BEGIN_MS, signal)]);
    if (signal.aborted) return;
    // Several topics were read side by side.
    show(joined.take(0).sort((a, b) => a.observedAtMs - b.observedAtMs));
    const timer = setInterval(() => show(joined.take(JOIN_MS)), TICK_MS).unref();
    signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  }

  /** Changes for a connected page, without changes that came too fast for it. */
  function after(n: number): ChangesView {
    const changes = kept.filter((change) => change.n > n).slice(-MOST_AT_ONCE);
    const last = changes.at(-1);
    return { fresh: false, changes, left: last === undefined ? 0 : last.n - n - changes.length };
  }

  return {
    /** Begins to read, or goes on. @returns once the last ones there are were read, or that took too long. Never fails */
    begin(): Promise<void> {
      if (reading === null) {
        const over = new AbortController();
        reading = { over, begun: begin(over.signal) };
      }
      return reading.begun;
    },
    /** Changes for a page that connects: those after the last change that it showed, or the latest changes if it showed none. */
    first(n: number | null): ChangesView {
      const firstKept = kept[0]?.n ?? seen + 1;
      return n !== null && n >= firstKept - 1 && n <= seen
        ? after(n)
        : { fresh: true, changes: kept.slice(-FIRST), left: 0 };
    },
    after,
    /** Number of the last change. */
    last: (): number => seen,
    /** Ends reading and drops the changes read so far. The next page starts afresh. */
    end(): void {
      reading?.over.abort();
      reading = null;
      kept = [];
      seen++;
    },
  };
}

type NewChange = Omit<ChangeView, 'n'>;

/** Changes that wait for their transitions. */
function joinedChanges() {
  let waiting: { readonly change: ReturnType<typeof readChange>; readonly sinceMs: number }[] = [];
  /** By the id of the change. */
  const transitions = new Map<string, TransitionView[]>();
  return {
    add(feed: Feed, record: DecodedRecord): void {
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
    /** Takes out the changes that have waited at least this long. */
    take(waitedMs: number): NewChange[] {
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

interface Followed {
  readonly topics: readonly string[];
  /** Topics whose records count for the limit. */
  readonly counted: ReadonlySet<string>;
  /** A record that this rejects for is not shown; the records after it are. */
  record(record: LogRecord): Promise<void>;
  /** This many positions of counted topics were skipped, because more came than the limit lets through. */
  passedOver(count: number): void;
}

/** How many positions of each partition are read when somebody begins to look, and after a flood was passed over. */
const BACKLOG = 40;
const AFTER_FLOOD = 10;
const AGAIN_MS = 1_000;

/**
 * Follows topics from shortly before their ends, until the signal. When records come faster than people read, the reader skips them, so that a
 * flood costs next to nothing. Whatever fails is tried again.
 * @returns once the records that were there have been read, or could not be. Never fails
 */
export async function followTopics(
  { topics, counted, record, passedOver }: Followed,
  { log, logger }: { readonly log: Pick<CommitLog, 'read'>; readonly logger: Logger },
  signal: AbortSignal,
): Promise<void> {
  /** Records that may be shown now: a bucket that fills up at the rate of its size. */
  let allowance = MOST_PER_SECOND;
  let filledMs = performance.now();
  /** By topic and partition the offset of the last record that was read. */
  const latest = new Map<string, number>();

  /** @returns whether it ended because the allowance was used up */
  async function read(depth: number, follow: boolean): Promise<boolean> {
    const before = new Map(latest);
    const from = { fromBeginning: true, notBefore: { positionsToEnd: depth } };
    for await (const one of log.read(topics, { ...from, follow, canBePartial: true, signal })) {
      const { topic, partition, logOffset } = one;
      const isCounted = counted.has(topic);
      const key = `${partition} ${topic}`;
      const place = before.get(key);
      if (place !== undefined) {
        const isAgain = logOffset <= place && logOffset >= place - depth;
        if (!isAgain || logOffset === place) before.delete(key);
        if (isAgain) continue;
        if (logOffset > place && isCounted) passedOver(logOffset - place - 1);
      }
      latest.set(key, logOffset);
      if (one.value !== null)
        await record(one).catch((error: unknown) =>
          logger.debug('the dashboard does not show a record', { topic, partition, logOffset, error }),
        );
      if (isCounted && !takeOne()) return true;
    }
    return false;
  }

  /** @returns false when there is none left for now */
  function takeOne(): boolean {
    const nowMs = performance.now();
    const filled = allowance + ((nowMs - filledMs) * MOST_PER_SECOND) / 1_000;
    allowance = Math.max(0, Math.min(MOST_PER_SECOND, filled) - 1);
    filledMs = nowMs;
    return allowance > 0;
  }

  /** @returns how far before the end the next reader begins */
  async function readFrom(depth: number, follow: boolean): Promise<number> {
    try {
      return (await read(depth, follow)) ? AFTER_FLOOD : BACKLOG;
    } catch (error) {
      if (!signal.aborted) logger.debug('the dashboard cannot read the log now', { error });
      return BACKLOG;
    }
  }

  async function keepReading(first: number): Promise<void> {
    for (let depth = first; !signal.aborted; await pause(AGAIN_MS, signal))
      depth = await readFrom(depth, true);
  }

  void keepReading(await readFrom(BACKLOG, false));
}

interface Envelope extends ShownEnvelope {
  readonly source: { readonly origin: Origin; readonly updated: number; readonly seq: number };
  readonly ts_ms: number;
  readonly event_id: string;
}

const MOST_FIELDS = 20;

/** A change event in the form in which people see it. */
export function readChange(feed: Feed, record: DecodedRecord) {
  const { op, source, ts_ms, event_id } = record.value as Envelope;
  const { title, symbol, fields } = shownChange(feed, record);
  const view: Omit<ChangeView, 'n' | 'transitions'> = {
    feed: feed.name,
    key: vendorText(record.key)!,
    op,
    origin: source.origin,
    symbol: vendorText(symbol || null),
    title: vendorText(title)!,
    observedAtMs: ts_ms,
    updated: source.updated,
    seq: source.seq,
    fields: fields.slice(0, MOST_FIELDS).map((one) => {
      const [before, after] = vendorTexts(one.before, one.after);
      return { field: vendorText(one.field)!, before, after };
    }),
    moreFields: Math.max(0, fields.length - MOST_FIELDS),
  };
  return { eventId: event_id, view };
}

/** An event of one of the feed's declared transitions as the page shows it, and the id of its cause; null for any other record. */
export function readTransition(feed: Feed, record: DecodedRecord) {
  const shown = shownTransition(feed, record);
  const { caused_by } = record.value as { readonly caused_by?: unknown };
  if (shown === null || typeof caused_by !== 'string') return null;
  const { transition, badge, moves } = shown;
  /** `Buy, 110.00`; null if none of the values was there. */
  const joined = (side: 'before' | 'after') => {
    const texts = moves.map((move) => vendorText(move[side])).filter((text) => text !== null);
    return texts.length === 0 ? null : texts.join(', ');
  };
  const { mark, tone } = badge;
  const { type } = transition;
  const view: TransitionView = { type, mark, tone, before: joined('before'), after: joined('after') };
  return { causedBy: caused_by, view };
}
