import type { ErrorCode } from '../../../errors';
import { isClientRefused, untrustedCertificate } from '../../../net/certificate-failures';

export interface TlsFailure {
  readonly code: ErrorCode;
  /**
   * @param error of the socket
   * @param clientCertEnds expiry of the client's own certificate; null if it has none
   */
  says(error: Error, clientCertEnds: Date | null): string;
  readonly remedy: string;
}

/**
 * Codes for failures that have no code in Node.js: a connection without TLS to a port that expects it, a connection
 * that received something other than Kafka's protocol, and a connection that was ended in the handshake.
 */
export const TLS_EXPECTED = 'HIGHWATER_TLS_EXPECTED';
export const NOT_KAFKA = 'HIGHWATER_NOT_KAFKA';
export const TLS_UNANSWERED = 'HIGHWATER_TLS_UNANSWERED';

/** Why a connection failed, if TLS is the reason. @param code of the error of the socket */
export function tlsFailure(code: string | undefined): TlsFailure | null {
  if (code === undefined) return null;
  if (Object.hasOwn(ofBrokers, code)) return ofBrokers[code]!;
  if (untrustedCertificate.has(code)) return untrustedBroker;
  return isClientRefused(code) ? clientRefused : null;
}

const untrustedBroker: TlsFailure = {
  code: 'KAFKA_CERTIFICATE',
  says: ({ message }) =>
    `the certificate of the broker is not signed by an authority that is trusted here (${message})`,
  remedy:
    'Name the file with the certificate of the authority that signed the certificates of the brokers (KAFKA_SSL_CA_FILE). Without it, only the public authorities that Node.js knows are trusted.',
};

const ofBrokers: Readonly<Record<string, TlsFailure>> = {
  CERT_HAS_EXPIRED: {
    code: 'KAFKA_CERTIFICATE',
    says: () => 'the certificate of the broker, or of the authority that signed it, has expired',
    remedy: 'Renew it on the brokers (ssl.keystore.location). Check the clock of this machine, too.',
  },
  CERT_NOT_YET_VALID: {
    code: 'KAFKA_CERTIFICATE',
    says: () => 'the certificate of the broker, or of the authority that signed it, is not valid yet',
    remedy: 'Check the clocks of this machine and of the machine that made the certificate.',
  },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    code: 'KAFKA_CERTIFICATE',
    says(error) {
      const { host, cert } = error as { host?: string; cert?: { subjectaltname?: string } };
      return `the certificate of the broker is for ${cert?.subjectaltname ?? 'another host'}, not for ${host}`;
    },
    remedy:
      'Connect by a name that is in the certificate (KAFKA_BROKERS, and advertised.listeners of the brokers), or give the brokers a certificate with this one (subjectAltName).',
  },
  ERR_SSL_WRONG_VERSION_NUMBER: {
    code: 'KAFKA_UNREACHABLE',
    says: () => 'the broker answered without TLS',
    remedy: 'Name the port of a listener with TLS (KAFKA_BROKERS), or leave out KAFKA_SSL and KAFKA_SSL_*.',
  },
  [TLS_UNANSWERED]: {
    code: 'KAFKA_UNREACHABLE',
    says: () => 'the broker closed the connection in place of a TLS handshake',
    remedy:
      'Nothing, if it passes. Otherwise the port takes only connections without TLS: name the port of a listener with TLS (KAFKA_BROKERS), or leave out KAFKA_SSL and KAFKA_SSL_*.',
  },
  [TLS_EXPECTED]: {
    code: 'KAFKA_UNREACHABLE',
    says: () => 'the broker expects TLS',
    remedy:
      'Set KAFKA_SSL=yes, and KAFKA_SSL_CA_FILE if the brokers have no certificate of a public authority.',
  },
  [NOT_KAFKA]: {
    code: 'KAFKA_UNREACHABLE',
    says: () => 'the server at this address is not a Kafka broker',
    remedy: 'Name the address of a Kafka broker (KAFKA_BROKERS, and advertised.listeners of the brokers).',
  },
};

const clientRefused: TlsFailure = {
  code: 'KAFKA_UNAUTHENTICATED',
  says({ message }, ends) {
    if (ends === null) return 'the broker demands a certificate of its clients, and none is set';
    if (ends.getTime() < Date.now()) {
      return `the broker refused the certificate of KAFKA_SSL_CERT_FILE: it expired at ${ends.toISOString()}`;
    }
    const alert = /alert ([a-z ]+)/.exec(message)?.[1];
    return `the broker refused the certificate of KAFKA_SSL_CERT_FILE${alert === undefined ? '' : ` (${alert})`}`;
  },
  remedy:
    'Set a certificate that is valid and signed by an authority that the brokers trust (KAFKA_SSL_CERT_FILE, KAFKA_SSL_KEY_FILE). The files are read again by themselves.',
};
