import { createParser } from 'eventsource-parser';
import type {
  ChangesView,
  ChangeView,
  DeliveryView,
  FeedView,
  PublisherView,
} from '../../src/admin/dashboard/view';
import { DEADLINE_MS } from './until';

/** The events that a page got so far. */
export interface Told {
  publisher: PublisherView | null;
  feeds: readonly FeedView[];
  deliveries: readonly DeliveryView[];
  /** In the order of arrival, only since the last fresh start. */
  changes: ChangeView[];
  left: number;
  /** Id of the last event that had one. */
  lastEventId: string;
  /** Names of the events. */
  readonly events: string[];
  /** Number of fresh starts. */
  freshStarts: number;
}

export interface EventStream {
  readonly told: Told;
  readonly status: number;
  /** Waits for events of the page. */
  sees(condition: (told: Told) => boolean, withinMs?: number): Promise<Told>;
  /** Resolves when the server has ended it. */
  readonly ended: Promise<void>;
  close(): void;
}

/** Looks at a dashboard as its page does. */
export async function openEvents(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<EventStream> {
  const over = new AbortController();
  const answer = await fetch(new URL('/events', url), { headers, signal: over.signal });
  const told: Told = {
    publisher: null,
    feeds: [],
    deliveries: [],
    changes: [],
    left: 0,
    lastEventId: '',
    events: [],
    freshStarts: 0,
  };
  let woken = (): void => undefined;
  const parser = createParser({
    onEvent({ event = '', data, id }) {
      const said: unknown = JSON.parse(data);
      told.events.push(event);
      if (id !== undefined) told.lastEventId = id;
      if (event === 'publisher') told.publisher = said as PublisherView;
      if (event === 'feeds') told.feeds = said as FeedView[];
      if (event === 'deliveries') told.deliveries = said as DeliveryView[];
      if (event === 'changes') take(told, said as ChangesView);
      woken();
    },
  });
  const ended = (async () => {
    const decoder = new TextDecoder();
    try {
      for await (const chunk of answer.body!) parser.feed(decoder.decode(chunk, { stream: true }));
    } catch {
      // Broken off, by this side or the other.
    }
    woken();
  })();
  return {
    told,
    ended,
    status: answer.status,
    async sees(condition, withinMs = DEADLINE_MS) {
      const late = Date.now() + withinMs;
      while (!condition(told)) {
        const left = late - Date.now();
        if (left <= 0)
          throw new Error(`not told within ${withinMs} ms: ${condition}\n${JSON.stringify(told)}`);
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, left);
          woken = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      return told;
    },
    close: () => over.abort(),
  };
}

/** The events of a page until a condition holds. */
export async function eventsOf(url: string, condition: (told: Told) => boolean): Promise<Told> {
  const stream = await openEvents(url);
  try {
    return await stream.sees(condition);
  } finally {
    stream.close();
  }
}

function take(told: Told, { fresh, changes, left }: ChangesView): void {
  if (fresh) {
    told.changes = [];
    told.left = 0;
    told.freshStarts++;
  }
  told.changes.push(...changes);
  told.left += left;
}
