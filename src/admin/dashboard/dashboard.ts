import { randomBytes } from 'node:crypto';
import type { SchemaRegistry } from '../../avro/registry';
import type { CommitLog } from '../../log/commit-log';
import type { ConsumerLog } from '../../log/consumer-log';
import type { Logger } from '../../logger';
import type { Redact } from '../../redaction';
import type { PublisherEvent } from '../../runtime/publisher-events';
import { joinSignals, pause, unlessAborted } from '../../wait';
import type { FeedBoard } from '../feed-board';
import type { Owners } from '../owners';
import { createBell } from './bell';
import { type ChangeFeed, changeFeed } from './change-feed';
import { eventText } from './event-text';
import { feedActivity } from './feed-activity';
import { feedView } from './feed-view';
import { othersFeeds } from './others-feeds';
import type { ChangesView, FeedView, PublisherView } from './view';

export interface DashboardDeps {
  readonly board: FeedBoard;
  readonly publisher: Omit<PublisherView, 'startedAtMs' | 'nowMs'>;
  readonly allowedPerMinute: number;
  readonly topicPrefix: string;
  readonly commitLog: CommitLog;
  readonly registry: SchemaRegistry;
  /** Opened when somebody looks for the first time. */
  readonly openConsumerLog: () => ConsumerLog;
  readonly owners: () => Promise<Owners>;
  readonly redact: Redact;
  readonly logger: Logger;
}

/** What the dashboard's page is told. Nothing is read, and next to nothing kept, while nobody looks. */
export interface Dashboard {
  tell(event: PublisherEvent): void;
  /**
   * Server-sent events for one who looks, for ever: ends at the signal.
   * @param lastEventId of the last event that this page was shown, by this server or an earlier one
   */
  events(lastEventId: string | null, signal: AbortSignal): AsyncGenerator<string>;
  close(): Promise<void>;
}

/** Feeds are told of at most so often when something moves, and at least so often when nothing does. */
const MOVED_MS = 1_000;
const STILL_MS = 5_000;
/** A page that is loaded anew, or has lost its connection, goes on where it was. */
const LINGER_MS = 30_000;

export function createDashboard(deps: DashboardDeps): Dashboard {
  const { board, owners, logger } = deps;
  const startedAtMs = Date.now();
  const boot = randomBytes(6).toString('hex');
  const feeds = board.feeds.map(({ feed }) => feed);
  const activity = feedActivity(feeds);
  const others = othersFeeds({ ...deps, openedLog, noted: activity.note });
  const closing = new AbortController();
  const feedsMoved = createBell();
  let log: ConsumerLog | null = null;
  let changes: ChangeFeed | null = null;
  let lookers = 0;
  let lingering: NodeJS.Timeout | undefined;
  let isMoved = false;
  let shown: { readonly text: string; readonly atMs: number } | null = null;
  let showing: Promise<void> | null = null;

  function openedLog(): ConsumerLog {
    log ??= deps.openConsumerLog();
    return log;
  }

  function openChanges(): ChangeFeed {
    const { registry, topicPrefix } = deps;
    changes ??= changeFeed(feeds, { log: openedLog(), registry, topicPrefix, logger });
    return changes;
  }

  async function views(): Promise<readonly FeedView[]> {
    const known = board.feeds.some(({ phase }) => phase === 'waiting') ? await owners() : new Map();
    closing.signal.throwIfAborted();
    const elsewhere = board.feeds.filter(({ phase }) => phase !== 'owned').map(({ feed }) => feed);
    // A log that does not answer holds nobody up: what was known before is shown.
    await Promise.race([others.watch(elsewhere), pause(MOVED_MS, closing.signal)]);
    return board.feeds.map((standing) => {
      const { name } = standing.feed;
      return feedView({
        standing,
        counts: activity.of(name),
        owners: known,
        stored: standing.phase === 'owned' ? null : others.offset(name),
        storedLetters: others.deadLetters(name),
        instance: deps.publisher.instance,
        allowedPerMinute: deps.allowedPerMinute,
        redact: deps.redact,
        nowMs: Date.now(),
      });
    });
  }

  async function showFeeds(): Promise<void> {
    isMoved = false;
    const text = eventText('feeds', await views());
    shown = { text, atMs: performance.now() };
    feedsMoved.ring();
  }

  /** One makes the views for all who look. */
  const freshen = (): Promise<void> => {
    showing ??= showFeeds()
      .catch((error: unknown) => logger.debug('the dashboard could not be drawn', { error }))
      .finally(() => {
        showing = null;
      });
    return showing;
  };

  const timer = setInterval(() => {
    if (lookers === 0) return;
    const age = performance.now() - (shown?.atMs ?? Number.NEGATIVE_INFINITY);
    if (age >= STILL_MS || (isMoved && age >= MOVED_MS)) void freshen();
  }, MOVED_MS / 4).unref();

  function look(): ChangeFeed {
    clearTimeout(lingering);
    lookers++;
    const all = openChanges();
    void all.begin();
    return all;
  }

  function rest(): void {
    changes?.end();
    void others.watch([]);
  }

  function leave(): void {
    lookers--;
    if (lookers > 0) return;
    lingering = setTimeout(rest, LINGER_MS).unref();
  }

  /** `boot.n`: the number of a change, within one run of the server. */
  function lastShown(id: string | null): number | null {
    const [run, n] = (id ?? '').split('.');
    return run === boot && /^\d{1,15}$/.test(n ?? '') ? Number(n) : null;
  }

  async function* events(lastEventId: string | null, signal: AbortSignal): AsyncGenerator<string> {
    const either = joinSignals([signal, closing.signal]);
    const over = either.signal;
    const all = look();
    try {
      yield eventText('publisher', { ...deps.publisher, startedAtMs, nowMs: Date.now() });
      if (shown === null || performance.now() - shown.atMs >= MOVED_MS) await freshen();
      let feedsText = shown?.text ?? '';
      yield feedsText;
      await unlessAborted(all.begin(), over);

      let news: ChangesView = all.first(lastShown(lastEventId));
      let n = news.changes.at(-1)?.n ?? all.last;
      yield eventText('changes', news, `${boot}.${n}`);
      while (!over.aborted) {
        // Asked for before anything is looked at: what moves meanwhile is not missed.
        const moved = [all.moved, feedsMoved.next];
        news = all.after(n);
        if (news.changes.length > 0) {
          n = news.changes.at(-1)!.n;
          yield eventText('changes', news, `${boot}.${n}`);
          continue;
        }
        if (shown !== null && shown.text !== feedsText) {
          feedsText = shown.text;
          yield feedsText;
          continue;
        }
        await unlessAborted(Promise.race(moved), over);
      }
    } catch (error) {
      if (!over.aborted) throw error;
    } finally {
      either.leave();
      leave();
    }
  }

  return {
    tell(event) {
      activity.tell(event);
      isMoved = true;
    },
    events,
    async close() {
      closing.abort();
      clearInterval(timer);
      clearTimeout(lingering);
      rest();
      await log?.close();
    },
  };
}
