import { types } from 'node:util';

/**
 * Why no answer came, in the system's words: `connect ECONNREFUSED 127.0.0.1:8081`. Only the code and the message of the library's
 * error are used, because the error holds the request with its secrets. The message may still hold some.
 */
export function networkReason(error: unknown): string {
  const { code, message } = innermost(error);
  // OpenSSL found no TLS in the answer. Node.js names it by EPROTO, and its text has line numbers of OpenSSL.
  if (/wrong version number|packet length too long/i.test(message))
    return 'this server speaks http, not https, at this port: write http:// in its address, or name its port for https';
  return code === undefined || message.includes(code) ? message : `${code}: ${message}`;
}

/** Only the code: `ECONNREFUSED`. */
export function networkCode(error: unknown): string | undefined {
  return innermost(error).code;
}

function innermost(error: unknown): { readonly code: string | undefined; readonly message: string } {
  if (!types.isNativeError(error)) return { code: undefined, message: 'unknown reason' };
  // Several addresses were tried (IPv6 and IPv4): the parts have the reasons, and the whole has no message.
  const first: unknown = 'errors' in error && Array.isArray(error.errors) ? error.errors[0] : undefined;
  if (types.isNativeError(first)) return innermost(first);
  if (types.isNativeError(error.cause) && error.cause !== error) return innermost(error.cause);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return { code, message: error.message || 'no reason given' };
}
