import { X509Certificate } from 'node:crypto';
import { connect as connectTcp, isIP } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { ISocketFactory } from 'kafkajs';
import { TLS_UNANSWERED, tlsFailure } from '../tls-failure';

/** What kafkajs does by itself, in ms. */
const KEEP_ALIVE_DELAY = 60_000;

/**
 * Opens the connections of kafkajs, as it would by itself. Of the errors of a socket kafkajs keeps the message and the code
 * alone, so that what went wrong with a certificate is put into words here.
 * @param cert of the client, in PEM; null where it shows none
 */
export function socketFactory(cert: string | null): ISocketFactory {
  return ({ host, port, ssl, onConnect }) => {
    const socket = ssl
      ? // An address is no name that a server could choose its certificate by.
        connectTls({ host, port, ...(isIP(host) === 0 && { servername: host }), ...ssl }, onConnect)
      : connectTcp({ host, port }, onConnect);
    socket.setKeepAlive(true, KEEP_ALIVE_DELAY);
    let isSecure = false;
    socket.once('secureConnect', () => {
      isSecure = true;
    });
    // Before the listeners of kafkajs.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (ssl && !isSecure && error.code === 'ECONNRESET') error.code = TLS_UNANSWERED;
      const failure = tlsFailure(error.code);
      if (failure !== null) error.message = failure.says(error, cert === null ? null : endOf(cert));
    });
    return socket;
  };
}

function endOf(cert: string): Date {
  return new Date(new X509Certificate(cert).validTo);
}
