import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import {
  answeredId,
  apiKeys,
  endTxnError,
  frames,
  type KafkaApi,
  producedTo,
  type RequestHeader,
  requestHeader,
  transactionalId,
  wantsCommit,
} from './kafka-frames';

/** Which message of the traffic is meant, counted from the call on. */
export interface ProxyPoint {
  /** Default: any. */
  readonly api?: KafkaApi;
  /**
   * `request`: as it comes from the client, before the broker has it. `answer`: as it comes from the broker, which has carried
   * the request out; answers to EndTxn count only when they say so.
   */
  readonly where: 'request' | 'answer';
  /** For EndTxn: only commits, or only aborts. */
  readonly commits?: boolean;
  /** The first message that counts. Default 1. */
  readonly nth?: number;
  /** From there on every n-th message. Default: no other. */
  readonly every?: number;
  /** No more than so many in all. */
  readonly times?: number;
}

/**
 * `cut`: the message goes nowhere, and both ends of its connection are closed.
 * `after`: so many of its bytes still arrive, but never all. `cut`: then both ends are closed. `silence`: nothing follows on
 * this connection in that direction.
 */
export type Fate = 'pass' | 'cut' | { readonly after: number; readonly ends: 'cut' | 'silence' };

/** The facts about a message, or about the request that it answers. */
export interface ProxiedMessage {
  /** For InitProducerId and EndTxn; null: another request, or without an id. */
  readonly transactionalId: string | null;
  /** For Produce: the partitions of its records, `topic/partition`; null: another request. */
  readonly producedTo: readonly string[] | null;
  /** Length of the message, with the four bytes of its length. */
  readonly bytes: number;
}

export type ProxyAction = (message: ProxiedMessage) => Fate | Promise<Fate>;

export interface ProxyWatch {
  /** Messages met so far. */
  met(): number;
  remove(): void;
}

/**
 * Between clients and one broker. It understands where a message of Kafka's protocol begins and ends and what it asks for,
 * and passes it on unchanged. The broker's advertised address must be the proxy's, since that is what clients connect to
 * once they have asked for metadata: see `startProxiedKafka`.
 */
export interface KafkaProxy {
  readonly port: number;
  /** `host:port` */
  readonly address: string;
  /** Requests that clients have sent so far, of one kind or all. */
  seen(api?: KafkaApi): number;
  /** Loses the message, closing its connection. */
  cut(point: ProxyPoint): ProxyWatch;
  /**
   * Does something when the message comes, and holds it, and all behind it, back until that is done. Where several points mean
   * the same message, the first one set comes first, and none of them sees what another one has cut.
   */
  at(point: ProxyPoint, action: ProxyAction): ProxyWatch;
  /** From now on each message takes so much longer, either way, in ms; each waits for the one before it. */
  slow(ms: number): void;
  /** Like a broker that hangs: connections are taken, nothing passes. Messages that came during the freeze pass at the thaw. */
  freeze(): void;
  thaw(): void;
  /** @throws AggregateError of the faults of the traffic or of an action */
  stop(): Promise<void>;
}

export interface KafkaProxyOptions {
  /** Looked at for each new connection. */
  readonly target: { readonly host: string; readonly port: number };
}

interface Rule {
  readonly point: ProxyPoint;
  readonly action: ProxyAction;
  counted: number;
  met: number;
}

type Request = RequestHeader & Omit<ProxiedMessage, 'bytes'> & { readonly commits: boolean | undefined };

export async function startKafkaProxy({ target }: KafkaProxyOptions): Promise<KafkaProxy> {
  const rules = new Set<Rule>();
  const sockets = new Set<Socket>();
  const counts = new Map<number, number>();
  const failures: unknown[] = [];
  let slowMs = 0;
  let frozen: { readonly over: Promise<void>; readonly thaw: () => void } | null = null;

  const server = createServer((client) => {
    const broker = connect(target);
    const waiting = new Map<number, Request>();
    for (const socket of [client, broker]) {
      socket.setNoDelay(true);
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      // Told by the reading below.
      socket.on('error', () => undefined);
    }
    const cut = (): void => {
      // Bytes that were passed on before still go out.
      client.destroySoon();
      broker.destroySoon();
    };

    void pass(client, broker, async (frame) => {
      const header = requestHeader(frame);
      counts.set(header.apiKey, (counts.get(header.apiKey) ?? 0) + 1);
      const commits = header.apiKey === apiKeys.EndTxn ? wantsCommit(frame, header.apiVersion) : undefined;
      const facts = {
        transactionalId: transactionalId(frame, header),
        producedTo: producedTo(frame, header),
      };
      const request = { ...header, commits, ...facts };
      waiting.set(header.correlationId, request);
      return fateOf({ ...request, bytes: frame.length }, 'request');
    }).then(cut);
    void pass(broker, client, async (frame) => {
      const id = answeredId(frame);
      const request = waiting.get(id);
      waiting.delete(id);
      if (request === undefined) throw new Error(`an answer to ${id}, which nobody asked`);
      const isRefusal = request.apiKey === apiKeys.EndTxn && endTxnError(frame, request.apiVersion) !== 0;
      return isRefusal ? 'pass' : fateOf({ ...request, bytes: frame.length }, 'answer');
    }).then(cut);
  });

  /** Hands on message by message until one is cut or the connection ends. */
  async function pass(from: Socket, to: Socket, judge: (frame: Buffer) => Promise<Fate>): Promise<void> {
    try {
      for await (const frame of frames(from)) {
        const fate = await judge(frame);
        while (frozen !== null) await frozen.over;
        if (slowMs > 0) await delay(slowMs);
        if (fate === 'cut' || to.writableEnded || to.destroyed) return;
        if (fate !== 'pass') {
          to.write(frame.subarray(0, Math.min(fate.after, frame.length - 1)));
          if (fate.ends === 'silence' && !to.closed) await once(to, 'close');
          return;
        }
        if (!to.write(frame)) await drained(to);
      }
    } catch (error) {
      // A broken connection is passed on by closing the other one; anything else is a mistake.
      const { code = '' } = error as NodeJS.ErrnoException;
      if (!/^E(?!RR_)|^ERR_STREAM_/.test(code)) failures.push(error);
    }
  }

  async function fateOf(request: Request & ProxiedMessage, where: ProxyPoint['where']): Promise<Fate> {
    for (const rule of rules) {
      const { point } = rule;
      if (point.where !== where) continue;
      if (point.api !== undefined && apiKeys[point.api] !== request.apiKey) continue;
      if (point.commits !== undefined && point.commits !== request.commits) continue;
      rule.counted++;
      if (!isMeant(point, rule)) continue;
      rule.met++;
      const fate = await rule.action(request);
      if (fate !== 'pass') return fate;
    }
    return 'pass';
  }

  const proxy: Omit<KafkaProxy, 'port' | 'address'> = {
    seen: (api) =>
      api === undefined
        ? [...counts.values()].reduce((sum, count) => sum + count, 0)
        : (counts.get(apiKeys[api]) ?? 0),
    cut: (point) => proxy.at(point, () => 'cut'),
    at(point, action) {
      const rule: Rule = { point, action, counted: 0, met: 0 };
      rules.add(rule);
      return { met: () => rule.met, remove: () => void rules.delete(rule) };
    },
    slow(ms) {
      slowMs = ms;
    },
    freeze() {
      if (frozen !== null) return;
      let thaw = (): void => undefined;
      const over = new Promise<void>((resolve) => {
        thaw = resolve;
      });
      frozen = { over, thaw };
    },
    thaw() {
      const ended = frozen;
      frozen = null;
      ended?.thaw();
    },
    async stop() {
      proxy.thaw();
      for (const socket of sockets) socket.destroy();
      if (server.listening) await new Promise<void>((resolve) => server.close(() => resolve()));
      if (failures.length > 0) throw new AggregateError(failures, 'the proxy failed');
    },
  };
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { ...proxy, port, address: `127.0.0.1:${port}` };
}

function isMeant({ nth = 1, every, times }: ProxyPoint, { counted, met }: Rule): boolean {
  if (met >= (times ?? Number.POSITIVE_INFINITY)) return false;
  if (every === undefined) return counted === nth;
  return counted >= nth && (counted - nth) % every === 0;
}

async function drained(socket: Socket): Promise<void> {
  const left = new AbortController();
  const { signal } = left;
  await Promise.race([once(socket, 'drain', { signal }), once(socket, 'close', { signal })]);
  left.abort();
}
