import { isLoopback } from '../../config/http';

/**
 * Whether a request that names this host may be answered by a server that asks nobody for a token. With DNS rebinding, another
 * site's name points at this machine, and a page of that site can reach the server. Its requests still carry the name of that site.
 * @param header `Host` as it came: `127.0.0.1:9464`, `[::1]:9464`, `localhost`
 * @param bound the address on which the server listens
 */
export function isOwnHost(header: string | undefined, bound: string): boolean {
  const host = hostOf(header ?? '');
  return host !== null && (isLoopback(host) || host.toLowerCase() === bound.toLowerCase());
}

/** Without port and brackets; null if it is not a host. */
function hostOf(header: string): string | null {
  const [, inBrackets, plain] = /^(?:\[([^\]]+)\]|([^:]+))(?::\d*)?$/.exec(header) ?? [];
  return inBrackets ?? plain ?? null;
}
