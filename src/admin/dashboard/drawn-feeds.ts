import type { Logger } from '../../logging/logger';
import type { FeedView } from './view';

/** The feeds as pages show them, drawn once for all connected pages. */
export interface DrawnFeeds {
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
export const MOVED_MS = 1_000;
const STILL_MS = 5_000;

/** @param drawn called after each drawing */
export function drawnFeeds(
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
