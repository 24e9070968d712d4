import type { Socket } from 'node:net';
import type { ISocketFactory } from 'kafkajs';

/** Codes of Kafka's protocol: https://kafka.apache.org/protocol#protocol_api_keys */
const [JOIN_GROUP, SYNC_GROUP, API_VERSIONS] = [11, 14, 18];
/** A request begins with its length and the key of its API. */
const [LENGTH_BYTES, HEADER_BYTES] = [4, 6];

/** After how long without an answer a connection is given up, in ms. */
export interface Patience {
  /** The question that a connection begins with. Less than kafkajs waits for it (`connectionTimeout`). */
  readonly firstMs: number;
  /** Any other. Less than kafkajs waits for it (`requestTimeout`). */
  readonly otherMs: number;
}

/**
 * Closes connections on which nobody answers, as Kafka's own clients do. kafkajs keeps one whose request has timed out, and
 * sends the next one there: it looks for another leader or coordinator only when a connection breaks. While a broker hung,
 * a transaction that met it went from one timeout to the next, although the other brokers had long taken its place.
 *
 * With the connection go all others to that address from which nothing has come since: kafkajs has two to each broker,
 * and as long as the idle one stands it takes the broker for one to ask, before brokers that it would have to connect
 * to. A connection stays if it was opened just now, or if it has waited for the other members of its group for less
 * time than the silent connection for its answer.
 */
export function endingSilent(factory: ISocketFactory, patience: Patience): ISocketFactory {
  const open = new Map<string, Set<Watched>>();
  return (given) => {
    const address = `${given.host}:${given.port}`;
    const socket = factory(given);
    const peers = open.get(address) ?? new Set();
    open.set(address, peers);
    const endAll = (ms: number, since: number): void => {
      const what = `Connection timeout: ${address} did not answer within ${ms} ms`;
      const openedBefore = performance.now() - patience.firstMs;
      for (const peer of [...peers]) {
        const isAsking = peer.socket === socket;
        if (!isAsking && (peer.openedAt > openedBefore || peer.lastSignAt >= since)) continue;
        peer.socket.destroy(Object.assign(new Error(what), { code: 'ETIMEDOUT' }));
      }
    };
    watch(socket, peers, endAll, patience);
    return socket;
  };
}

/** Times are by the own clock, in ms. */
interface Watched {
  readonly socket: Socket;
  readonly openedAt: number;
  /** When something came last, or something was asked whose answer may be held back. */
  lastSignAt: number;
}

/** @param isSilent is told for how long nothing came, and since when */
function watch(
  socket: Socket,
  peers: Set<Watched>,
  isSilent: (ms: number, since: number) => void,
  { firstMs, otherMs }: Patience,
): void {
  const self: Watched = { socket, openedAt: performance.now(), lastSignAt: Number.NEGATIVE_INFINITY };
  peers.add(self);
  let timer: NodeJS.Timeout | undefined;
  let isHeldBack = false;

  function asked(request: Buffer): void {
    const api = request.length < HEADER_BYTES ? null : request.readInt16BE(4);
    // Answered when all members have come, with nothing else on that connection until then.
    if (api === JOIN_GROUP || api === SYNC_GROUP) {
      isHeldBack = true;
      self.lastSignAt = performance.now();
      clearTimeout(timer);
      timer = undefined;
    }
    if (isHeldBack || timer !== undefined) return;
    const ms = api === API_VERSIONS ? firstMs : otherMs;
    const since = performance.now();
    timer = setTimeout(() => isSilent(ms, since), ms).unref();
  }

  /** Remaining bytes of the request that is being written. It may come in pieces, and only the first piece has the key. */
  let bytesLeft = 0;

  function wrote(piece: Buffer): void {
    if (bytesLeft <= 0) {
      asked(piece);
      bytesLeft = piece.length < LENGTH_BYTES ? piece.length : LENGTH_BYTES + piece.readInt32BE();
    }
    bytesLeft -= piece.length;
  }

  function answered(): void {
    clearTimeout(timer);
    timer = undefined;
    isHeldBack = false;
  }

  const write = socket.write;
  socket.write = function (this: Socket, ...given: unknown[]): boolean {
    const [chunk, encoding] = given;
    if (Buffer.isBuffer(chunk)) wrote(chunk);
    else if (typeof chunk === 'string') wrote(Buffer.from(chunk, encoding as BufferEncoding));
    return Reflect.apply(write, this, given) as boolean;
  } as Socket['write'];
  socket.on('data', () => {
    self.lastSignAt = performance.now();
    answered();
  });
  socket.on('close', () => {
    peers.delete(self);
    answered();
  });
}
