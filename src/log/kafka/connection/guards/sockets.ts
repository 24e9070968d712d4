import { X509Certificate } from 'node:crypto';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ISocketFactory } from 'kafkajs';
import type { TlsTexts } from '../../../../net/certificate-failures';
import { TLS_UNANSWERED, tlsFailure } from '../tls-failure';

/** Defaults of kafkajs, in ms. */
const KEEP_ALIVE_DELAY = 60_000;

/**
 * Opens the connections of kafkajs as its own factory does. kafkajs keeps only the message and the code of a socket's error, so a
 * problem with a certificate is put into words here.
 * @param tlsNow asked for each connection, since certificates are replaced; null: without TLS
 */
export function socketFactory(tlsNow: () => TlsTexts | null): ISocketFactory {
  return ({ host, port, onConnect }) => {
    const tls = tlsNow();
    const given = Object.fromEntries(Object.entries(tls ?? {}).filter(([, text]) => text !== null));
    const socket =
      tls === null
        ? connectTcp({ host, port }, onConnect)
        : // A server cannot choose its certificate by an address, only by a name.
          connectTls({ host, port, ...(isIP(host) === 0 && { servername: host }), ...given }, onConnect);
    socket.setKeepAlive(true, KEEP_ALIVE_DELAY);
    unrefOnce(socket);
    let isSecure = false;
    socket.once('secureConnect', () => {
      isSecure = true;
    });
    // Before the listeners of kafkajs.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (tls !== null && !isSecure && error.code === 'ECONNRESET') error.code = TLS_UNANSWERED;
      const failure = tlsFailure(error.code);
      if (failure !== null) error.message = failure.says(error, tls?.cert ? endOf(tls.cert) : null);
    });
    return socket;
  };
}

/**
 * kafkajs ends a connection once for each request that failed on it, and each time it lets the process end without the socket. While a
 * socket is not connected, or no longer, Node.js adds a listener each time, and from the eleventh on it warns of a leak.
 */
function unrefOnce(socket: Socket): void {
  const { unref } = socket;
  let isDone = false;
  socket.unref = () => {
    if (!isDone) unref.call(socket);
    isDone = true;
    return socket;
  };
}

function endOf(cert: string): Date {
  return new Date(new X509Certificate(cert).validTo);
}

type Listener = (...given: unknown[]) => unknown;

/**
 * Ends a connection when one of its listeners throws, or returns a promise that is rejected. The requests that wait on that
 * connection fail, and kafkajs sends them again on another.
 *
 * The listeners are kafkajs's own, and some of them are async functions that nobody awaits. Without this, an error in them would be
 * an uncaught exception and end the process.
 */
export function guardedListeners(factory: ISocketFactory): ISocketFactory {
  return ({ onConnect, ...given }) => {
    const guarded =
      (listener: Listener): Listener =>
      (...args) => {
        try {
          const outcome = listener.apply(socket, args);
          if (outcome instanceof Promise) outcome.catch(end);
        } catch (error) {
          end(error);
        }
      };
    // A connection that has ended reports nothing more: a listener that fails each time would be called for ever.
    const end = (error: unknown): void => {
      socket.destroy(error instanceof Error ? error : new Error(String(error)));
    };
    const socket = factory({ ...given, onConnect: guarded(onConnect) });
    const on = socket.on;
    socket.on = function (this: Socket, event: string, listener: Listener): Socket {
      // Node finds a listener to take away by this member.
      return Reflect.apply(on, this, [event, Object.assign(guarded(listener), { listener })]) as Socket;
    } as Socket['on'];
    return socket;
  };
}
