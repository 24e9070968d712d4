import { BlockList, isIPv4, isIPv6 } from 'node:net';
import { isSecretSet, readSecret } from './files/secrets';
import type { Loading } from './raw-settings';

/** Where metrics and health are served. */
export interface HttpConfig {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Null: nobody is asked for one. To be read for each request, since its file may change. */
  readonly token: string | null;
}

/** An address that other machines can reach needs a token. @returns null when no port is set */
export function readHttp(loading: Loading): HttpConfig | null {
  const { httpPort: port, httpHost: host } = loading.values;
  const token = readSecret(loading, 'httpToken');
  if (port === null) return null;
  if (isSecretSet(loading, 'httpToken') || isLoopback(host)) {
    return {
      host,
      port,
      get token() {
        return token?.value ?? null;
      },
    };
  }
  const expected = 'a token in HIGHWATER_HTTP_TOKEN, or a file of it in HIGHWATER_HTTP_TOKEN_FILE';
  const problem = `is not set, expected ${expected}, since other machines can reach ${host}`;
  loading.mistakes.push({ key: 'httpToken', where: null, problem });
  return null;
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/** Whether an address is reachable only from this machine. The only loopback name is `localhost`. */
export function isLoopback(host: string): boolean {
  if (isIPv4(host)) return loopback.check(host, 'ipv4');
  if (isIPv6(host)) return loopback.check(host, 'ipv6');
  return host.toLowerCase() === 'localhost';
}
