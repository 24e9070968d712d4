import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { ChangesView, DeliveryView, FeedView, PublisherView } from '../dashboard/view';
import { type Message, SILENCE_MS } from './model/model';

export type Stream = ReturnType<typeof openStream>;

const SHORTEST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 4_000;

/**
 * Hears the publisher for as long as the page is open. The browser's own EventSource sends no token, and gives up for good when
 * a proxy answers for a publisher that is being started again.
 */
export function openStream(token: string | null, tell: (message: Message) => void) {
  const address = new URL('events', document.baseURI);
  /** Id of the last changes; it outlives connections, but not tokens. */
  let lastId = '';
  let used = token;
  let pauseMs = SHORTEST_PAUSE_MS;
  let wake = () => {};
  let current = new AbortController();

  async function follow(): Promise<void> {
    for (;;) {
      const connection = current;
      const ended = await hear(connection).catch(() => 'lost' as const);
      if (ended === 'refused') tell({ kind: 'refused', wasWrong: used !== null });
      else if (connection === current || !connection.signal.aborted) tell({ kind: 'lost', atMs: Date.now() });
      // After a refusal, waits for another token.
      await new Promise<void>((resolve) => {
        wake = resolve;
        if (connection !== current) resolve();
        else if (ended !== 'refused') setTimeout(resolve, pauseMs * (0.75 + Math.random() / 2));
      });
      pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
      if (connection === current) current = new AbortController();
    }
  }

  async function hear(connection: AbortController): Promise<'lost' | 'refused'> {
    if (used !== null && !/^[\x21-\x7e]+$/.test(used)) return 'refused';
    let timer: ReturnType<typeof setTimeout> | undefined;
    const expectMore = () => {
      clearTimeout(timer);
      timer = setTimeout(() => connection.abort(), SILENCE_MS);
    };
    try {
      expectMore();
      const response = await fetch(address, {
        headers: {
          accept: 'text/event-stream',
          ...(used !== null && { authorization: `Bearer ${used}` }),
          ...(lastId !== '' && { 'last-event-id': lastId }),
        },
        cache: 'no-store',
        credentials: 'same-origin',
        signal: connection.signal,
      });
      if (response.status === 401) return 'refused';
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
      if (!response.ok || !isStream || response.body === null) return 'lost';
      tell({ kind: 'opened' });
      const parser = createParser({ onEvent: receive });
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        expectMore();
        const { done, value } = await reader.read();
        if (done) return 'lost';
        pauseMs = SHORTEST_PAUSE_MS;
        parser.feed(value);
      }
    } finally {
      clearTimeout(timer);
      connection.abort();
    }
  }

  function receive({ event, id, data }: EventSourceMessage): void {
    if (id !== undefined) lastId = id;
    const atMs = Date.now();
    if (event === 'publisher') tell({ kind: 'publisher', view: JSON.parse(data) as PublisherView, atMs });
    if (event === 'feeds') tell({ kind: 'feeds', views: JSON.parse(data) as FeedView[], atMs });
    if (event === 'deliveries') tell({ kind: 'deliveries', views: JSON.parse(data) as DeliveryView[] });
    if (event === 'changes') tell({ kind: 'changes', view: JSON.parse(data) as ChangesView });
  }

  void follow();
  return {
    /** With another token from now on. */
    use(next: string | null): void {
      used = next;
      lastId = '';
      const before = current;
      current = new AbortController();
      before.abort();
      wake();
    },
    /** Does not wait for the next try. */
    hurry(): void {
      pauseMs = SHORTEST_PAUSE_MS;
      wake();
    },
  };
}

const NAME = 'highwater-token';

/** The token of this tab, until it is closed. */
export function keptToken(): string | null {
  try {
    return sessionStorage.getItem(NAME);
  } catch {
    return null;
  }
}

export function keepToken(token: string | null): void {
  try {
    if (token === null) sessionStorage.removeItem(NAME);
    else sessionStorage.setItem(NAME, token);
  } catch {
    // Without storage it is asked for again after a reload.
  }
}
