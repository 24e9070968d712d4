/** Texts in PEM, and the password of the key; null where none is set. */
export interface TlsTexts {
  readonly ca: string | null;
  readonly cert: string | null;
  readonly key: string | null;
  readonly passphrase: string | null;
}

/** Codes of Node.js for a certificate that no authority trusted here has signed, by OpenSSL's names (X509_V_ERR_*). */
export const untrustedCertificate: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
  'CERT_CHAIN_TOO_LONG',
  'CERT_UNTRUSTED',
  'CERT_REJECTED',
  'INVALID_CA',
  'INVALID_PURPOSE',
]);

/** Codes of Node.js for a certificate that is refused for another reason. */
const unfitCertificate = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REVOKED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

/** Whether a connection failed because of the certificate of the server. */
export function isCertificateFailure(code: string | undefined): boolean {
  return code !== undefined && (untrustedCertificate.has(code) || unfitCertificate.has(code));
}

/**
 * Alerts that a server sends only about the client's certificate. Java tells few of the reasons apart. SSLV3_ALERT is called
 * SSL/TLS_ALERT since OpenSSL 3.2, which comes with Node 22 and 24.
 */
const clientAlert =
  /^ERR_SSL_(SSLV3|SSL\/TLS|TLSV1|TLSV13)_ALERT_(BAD_CERTIFICATE|CERTIFICATE_\w+|NO_CERTIFICATE|UNKNOWN_CA|UNSUPPORTED_CERTIFICATE|ACCESS_DENIED)$/;

/** Whether the server refused the client's certificate, or that there is none. */
export function isClientRefused(code: string | undefined): boolean {
  return code !== undefined && clientAlert.test(code);
}
