import { randomBytes } from 'node:crypto';
import { joinSignals, pause, unlessAborted } from '../../async/wait';
import { type ApiConfig, baseUrlsOf } from '../../config/load-config';
import type { Opened } from '../../consumer/open-log';
import type { Delivery } from '../../delivery/delivery';
import type { Feed } from '../../feeds/feed';
import type { Redact } from '../../secrets/redaction';
import { type FeedBoard, ownersFor } from '../feed-board';
import type { BuildInfo, LogMeasures } from '../metrics/metrics';
import { changeFeed, type LogDeps } from './change-feed';
import { feedView } from './feed-view';
import { othersFeeds } from './others-feeds';
import type { DeliveryView, FeedView, PublisherView } from './view';

export interface AdminOptions extends LogMeasures, LogDeps {
  readonly feeds: readonly Feed[];
  readonly deliveries?: readonly Delivery[];
  readonly instance: string;
  /** Where the log is, for people. */
  readonly place: string;
  readonly api: Pick<ApiConfig, 'access' | 'budget'>;
  readonly build: BuildInfo;
  readonly redact: Redact;
  /** Opens the log for programs that read it over HTTP; left out: they cannot. */
  readonly consumer?: () => Opened;
}

export type Dashboard = ReturnType<typeof createDashboard>;

/** A page that was reloaded or lost its connection continues at its last change. */
const LINGER_MS = 30_000;
/** How often feeds are drawn, and how often a page is told what is new. */
const [DRAW_MS, TELL_MS] = [1_000, 100];

/** Serves the data of the dashboard's page. While no page is connected, nothing is read and almost nothing is kept. */
export function createDashboard(
  board: FeedBoard,
  options: AdminOptions,
  deliveries: () => Promise<readonly DeliveryView[]> = async () => [],
) {
  const { instance, build, api, logger } = options;
  const publisher: Omit<PublisherView, 'nowMs'> = {
    instance,
    version: build.version,
    log: options.place,
    logKind: build.log,
    api: baseUrlsOf(api).join(', '),
    startedAtMs: Date.now(),
  };
  const allowedPerMinute = Math.round(60 * api.budget.requestsPerSecond);
  const boot = randomBytes(6).toString('hex');
  const feeds = board.feeds.map(({ feed }) => feed);
  const closing = new AbortController();
  const others = othersFeeds(options, board.note, closing.signal);
  const changes = changeFeed(feeds, options);
  /** The events that were drawn last, for all pages. */
  let drawn = { text: Promise.resolve(''), atMs: Number.NEGATIVE_INFINITY };
  let pages = 0;
  let lingering: NodeJS.Timeout | undefined;

  /** Nobody has looked for a while. */
  function rest(): void {
    clearTimeout(lingering);
    changes.end();
  }

  /** Empty if that fails. */
  async function draw(): Promise<string> {
    try {
      return eventText('feeds', await views()) + eventText('deliveries', await deliveries());
    } catch (error) {
      logger.debug('the dashboard could not be drawn', { error });
      return '';
    }
  }

  function lastDrawn() {
    if (performance.now() - drawn.atMs >= DRAW_MS) drawn = { text: draw(), atMs: performance.now() };
    return drawn;
  }

  async function views(): Promise<readonly FeedView[]> {
    const owners = await ownersFor(board);
    closing.signal.throwIfAborted();
    // A log that does not answer does not delay a page, which then shows the last known state.
    const inTime = <T>(work: Promise<T>) =>
      Promise.race([work, pause(DRAW_MS, closing.signal).then(() => null)]);
    const elsewhere = board.feeds.filter(({ phase }) => phase !== 'owned').map(({ feed }) => feed);
    const withLetters = board.feeds.filter(({ state }) => state?.deadLetterCount !== 0);
    const reading = [others.readOffsets(elsewhere), others.readLetters(withLetters.map(({ feed }) => feed))];
    if (reading.some((one) => one !== null)) await inTime(Promise.all(reading));
    return board.feeds.map((standing) => {
      const { name } = standing.feed;
      const { count, reason } = others.letters(name);
      return feedView({
        standing,
        owners,
        stored: standing.phase === 'owned' ? null : others.offset(name),
        deadLetters: standing.state?.deadLetterCount ?? count,
        deadLetterReason: reason,
        instance,
        allowedPerMinute,
        redact: options.redact,
        nowMs: Date.now(),
      });
    });
  }

  /** `boot.n`: the number of a change, within one run of the server. */
  function lastShown(id: string | null): number | null {
    const [run, n] = (id ?? '').split('.');
    return run === boot && /^\d{1,15}$/.test(n ?? '') ? Number(n) : null;
  }

  /**
   * Server-sent events for one page, until the signal.
   * @param lastEventId of the last event that this page was shown, by this server or an earlier one
   */
  async function* events(lastEventId: string | null, signal: AbortSignal): AsyncGenerator<string> {
    const either = joinSignals([signal, closing.signal]);
    const over = either.signal;
    pages++;
    clearTimeout(lingering);
    const begun = changes.begin();
    try {
      yield eventText('publisher', { ...publisher, nowMs: Date.now() });
      let shown = lastDrawn();
      yield await shown.text;
      await unlessAborted(begun, over);

      let news = changes.first(lastShown(lastEventId));
      let n = news.changes.at(-1)?.n ?? changes.last();
      yield eventText('changes', news, `${boot}.${n}`);
      for (; !over.aborted; await pause(TELL_MS, over)) {
        news = changes.after(n);
        if (news.changes.length > 0) {
          n = news.changes.at(-1)!.n;
          yield eventText('changes', news, `${boot}.${n}`);
        }
        if (shown === lastDrawn()) continue;
        shown = lastDrawn();
        yield await shown.text;
      }
    } catch (error) {
      if (!over.aborted) throw error;
    } finally {
      either.leave();
      pages--;
      if (pages === 0) lingering = setTimeout(rest, LINGER_MS).unref();
    }
  }

  return {
    events,
    async close(): Promise<void> {
      closing.abort();
      rest();
    },
  };
}

/** One server-sent event. JSON text has no line breaks, so its data is one line. */
export function eventText(event: string, data: unknown, id?: string): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
