import { randomBytes } from 'node:crypto';
import { joinSignals, pause, unlessAborted } from '../../async/wait';
import type { SchemaRegistry } from '../../avro/registry/registry';
import type { CommitLog } from '../../log/commit-log';
import type { Logger } from '../../logging/logger';
import type { PublisherEvent } from '../../runtime/publisher-events';
import type { Redact } from '../../secrets/redaction';
import type { FeedBoard, Owners } from '../feed-board';
import { changeFeed } from './change-feed';
import { feedActivity, feedView } from './feed-view';
import { letterReasons, othersFeeds } from './others-feeds';
import type { ChangesView, FeedView, PublisherView } from './view';

interface DashboardDeps {
  readonly board: FeedBoard;
  readonly publisher: Omit<PublisherView, 'startedAtMs' | 'nowMs'>;
  readonly allowedPerMinute: number;
  readonly topicPrefix: string;
  readonly log: CommitLog;
  readonly registry: SchemaRegistry;
  readonly owners: () => Promise<Owners>;
  readonly redact: Redact;
  readonly logger: Logger;
}

/** Serves the data of the dashboard's page. While no page is connected, nothing is read and almost nothing is kept. */
export interface Dashboard {
  tell(event: PublisherEvent): void;
  /**
   * Server-sent events for one page, until the signal.
   * @param lastEventId of the last event that this page was shown, by this server or an earlier one
   */
  events(lastEventId: string | null, signal: AbortSignal): AsyncGenerator<string>;
  close(): Promise<void>;
}

/** A page that was reloaded or lost its connection continues at its last change. */
const LINGER_MS = 30_000;

export function createDashboard(deps: DashboardDeps): Dashboard {
  const { board, owners, logger } = deps;
  const startedAtMs = Date.now();
  const boot = randomBytes(6).toString('hex');
  const feeds = board.feeds.map(({ feed }) => feed);
  const activity = feedActivity(feeds);
  const others = othersFeeds({ ...deps, noted: activity.note });
  const closing = new AbortController();
  const latestReason = letterReasons(deps, closing.signal);
  /**
   * Rung by changes and by feeds. Were there a bell for each, every ring of one would leave a reaction on the promise of the
   * other, which stays open for as long as that one is quiet.
   */
  const moved = createBell();
  const changes = changeFeed(feeds, deps, moved.ring);
  const drawn = drawnFeeds(views, moved.ring, logger);
  const audience = audienceOf(() => {
    changes.end();
    void others.watch([]);
  });
  const timer = setInterval(() => {
    if (audience.isThere) drawn.keepFresh();
  }, MOVED_MS / 4).unref();

  async function views(): Promise<readonly FeedView[]> {
    const known = board.feeds.some(({ phase }) => phase === 'waiting') ? await owners() : new Map();
    closing.signal.throwIfAborted();
    const elsewhere = board.feeds.filter(({ phase }) => phase !== 'owned').map(({ feed }) => feed);
    const watching = others.watch(elsewhere);
    // A log that does not answer does not delay a page, which then shows the last known state.
    if (elsewhere.length > 0) await Promise.race([watching, pause(MOVED_MS, closing.signal)]);
    return Promise.all(
      board.feeds.map(async (standing) => {
        const { name } = standing.feed;
        const deadLetters = standing.state?.deadLetterCount ?? others.deadLetters(name);
        const reading = latestReason(standing.feed, deadLetters);
        const late = () => pause(MOVED_MS, closing.signal).then(() => null);
        const deadLetterReason = reading === null ? null : await Promise.race([reading, late()]);
        return feedView({
          standing,
          counts: activity.of(name),
          owners: known,
          stored: standing.phase === 'owned' ? null : others.offset(name),
          deadLetters,
          deadLetterReason,
          instance: deps.publisher.instance,
          allowedPerMinute: deps.allowedPerMinute,
          redact: deps.redact,
          nowMs: Date.now(),
        });
      }),
    );
  }

  /** `boot.n`: the number of a change, within one run of the server. */
  function lastShown(id: string | null): number | null {
    const [run, n] = (id ?? '').split('.');
    return run === boot && /^\d{1,15}$/.test(n ?? '') ? Number(n) : null;
  }

  async function* events(lastEventId: string | null, signal: AbortSignal): AsyncGenerator<string> {
    const either = joinSignals([signal, closing.signal]);
    const over = either.signal;
    audience.enter();
    const begun = changes.begin();
    try {
      yield eventText('publisher', { ...deps.publisher, startedAtMs, nowMs: Date.now() });
      await drawn.freshen();
      let feedsText = drawn.text;
      yield feedsText;
      const recent = await unlessAborted(begun, over);

      let news: ChangesView = recent.first(lastShown(lastEventId));
      let n = news.changes.at(-1)?.n ?? recent.last;
      yield eventText('changes', news, `${boot}.${n}`);
      while (!over.aborted) {
        // The promise is taken before the state is read, so no move in between is missed.
        const { next } = moved;
        news = recent.after(n);
        if (news.changes.length > 0) {
          n = news.changes.at(-1)!.n;
          yield eventText('changes', news, `${boot}.${n}`);
          continue;
        }
        if (drawn.text !== feedsText) {
          feedsText = drawn.text;
          yield feedsText;
          continue;
        }
        await unlessAborted(next, over);
      }
    } catch (error) {
      if (!over.aborted) throw error;
    } finally {
      either.leave();
      audience.leave();
    }
  }

  return {
    tell(event) {
      activity.tell(event);
      drawn.touch();
    },
    events,
    async close() {
      closing.abort();
      clearInterval(timer);
      audience.disperse();
    },
  };
}

/** The pages that are connected. @param rest is called when no page has been connected for a while */
function audienceOf(rest: () => void) {
  let lookers = 0;
  let lingering: NodeJS.Timeout | undefined;
  return {
    get isThere() {
      return lookers > 0;
    },
    enter() {
      clearTimeout(lingering);
      lookers++;
    },
    leave() {
      lookers--;
      if (lookers === 0) lingering = setTimeout(rest, LINGER_MS).unref();
    },
    disperse() {
      clearTimeout(lingering);
      rest();
    },
  };
}

/** Wakes all waiting pages. `next` resolves at the first ring after it was read. */
function createBell() {
  let resolve: () => void = () => undefined;
  let next = new Promise<void>((done) => {
    resolve = done;
  });
  return {
    ring() {
      const ringing = resolve;
      next = new Promise((done) => {
        resolve = done;
      });
      ringing();
    },
    get next() {
      return next;
    },
  };
}

/** The feeds as pages show them, drawn once for all connected pages. */
interface DrawnFeeds {
  /** The event that was drawn last; empty before the first one. */
  readonly text: string;
  /** Something has moved: the next drawing comes sooner. */
  touch(): void;
  /** Draws when it is time to. */
  keepFresh(): void;
  /** Resolves when the drawing is at most a second old, or could not be made. Never fails */
  freshen(): Promise<void>;
}

/** Feeds are drawn at most so often when something moves, and at least so often when nothing does. */
const MOVED_MS = 1_000;
const STILL_MS = 5_000;

/** @param drawn called after each drawing */
function drawnFeeds(
  views: () => Promise<readonly FeedView[]>,
  drawn: () => void,
  logger: Logger,
): DrawnFeeds {
  let last = { text: '', atMs: Number.NEGATIVE_INFINITY };
  let isTouched = false;
  let drawing: Promise<void> | null = null;

  async function draw(): Promise<void> {
    try {
      isTouched = false;
      last = { text: eventText('feeds', await views()), atMs: performance.now() };
      drawn();
    } catch (error) {
      logger.debug('the dashboard could not be drawn', { error });
    } finally {
      drawing = null;
    }
  }

  function unlessYoungerThan(ms: number): Promise<void> | undefined {
    if (performance.now() - last.atMs < ms) return undefined;
    drawing ??= draw();
    return drawing;
  }

  return {
    get text() {
      return last.text;
    },
    touch() {
      isTouched = true;
    },
    keepFresh: () => void unlessYoungerThan(isTouched ? MOVED_MS : STILL_MS),
    freshen: async () => unlessYoungerThan(MOVED_MS),
  };
}

/** One server-sent event. JSON text has no line breaks, so its data is one line. */
export function eventText(event: string, data: unknown, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
