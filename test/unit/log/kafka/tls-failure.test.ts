import { tlsFailure } from '../../../../src/log/kafka/connection/tls-failure';

it.each([
  ['Node 20', 'ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN'],
  ['Node 20', 'ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE'],
  ['Node 22 and 24', 'ERR_SSL_SSL/TLS_ALERT_CERTIFICATE_UNKNOWN'],
  ['Node 22 and 24', 'ERR_SSL_SSL/TLS_ALERT_BAD_CERTIFICATE'],
  ['all', 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'],
  ['all', 'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA'],
])('a certificate of the client that is refused is known by the name that %s has for it: %s', (_, code) => {
  expect(tlsFailure(code)?.code).toBe('KAFKA_UNAUTHENTICATED');
});

it.each(['ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE', 'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', 'ECONNRESET'])(
  '%s says nothing of a certificate',
  (code) => expect(tlsFailure(code)).toBeNull(),
);
