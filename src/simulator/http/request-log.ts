import type { FeedName } from '../endpoints';

/** One request as the server saw it. The token is not kept. */
export interface SeenRequest {
  /** From 1, over all feeds. */
  readonly number: number;
  readonly atMs: number;
  /** Null: the path does not exist. */
  readonly feed: FeedName | null;
  readonly path: string;
  /** Without the token. */
  readonly query: Readonly<Record<string, string | string[] | undefined>>;
  /** Without headers that carry secrets. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Number of the connection it came over, from 1: the same number means reuse. */
  readonly socket: number;
  /** Null while unanswered, and where the answer never came or was cut. */
  status: number | null;
  /** Names of the faults that it met. */
  faults: readonly string[];
  /** Records in the answer. */
  rows: number;
}

const secrets = new Set(['authorization', 'cookie', 'proxy-authorization', 'x-api-key']);

/** So many of the latest requests are remembered. */
const kept = 10_000;

export function createRequestLog() {
  let seen: SeenRequest[] = [];
  let number = 0;
  let lastSocket = 0;
  const sockets = new WeakMap<object, number>();
  const counters = emptyCounters();
  return {
    counters,
    add(
      request: Omit<SeenRequest, 'number' | 'socket' | 'status' | 'faults' | 'rows'>,
      socket: object,
    ): SeenRequest {
      const known = sockets.get(socket);
      const connection = known ?? ++lastSocket;
      if (known === undefined) {
        sockets.set(socket, connection);
        counters.sockets++;
      }
      const { token: _, ...query } = request.query;
      const headers = Object.fromEntries(
        Object.entries(request.headers).filter(([name]) => !secrets.has(name)),
      );
      const entry: SeenRequest = {
        ...request,
        query,
        headers,
        number: ++number,
        socket: connection,
        status: null,
        faults: [],
        rows: 0,
      };
      counters.requests++;
      if (entry.feed !== null) counters.byFeed[entry.feed]++;
      seen.push(entry);
      // Cut now and then, not at every request: shift() on a long list is slow.
      if (seen.length > kept * 2) seen = seen.slice(-kept);
      return entry;
    },
    /** Counts the faults of an answer before its first byte is sent, so a client that has the answer finds them counted. */
    answered(request: SeenRequest): void {
      for (const fault of request.faults) counters.byFault[fault] = (counters.byFault[fault] ?? 0) + 1;
    },
    /** The latest, oldest first. */
    list: (): SeenRequest[] => seen.slice(-kept),
    /** Forgets the requests and sets the counters to 0; numbers of requests and connections go on. */
    clear(): void {
      seen = [];
      Object.assign(counters, emptyCounters());
    },
  };
}

function emptyCounters() {
  return {
    requests: 0,
    sockets: 0,
    byFeed: { insights: 0, analysts: 0, ipos: 0 },
    byFault: {} as Record<string, number>,
  };
}
