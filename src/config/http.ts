import { BlockList, isIPv4, isIPv6 } from 'node:net';
import type { Rotation } from '../secrets/rotation';
import { readSecret } from './files/secrets';
import type { Mistake } from './mistake';
import type { ReadSettings } from './raw-settings';

/** Where metrics and health are served. */
export interface HttpConfig {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** Null: nobody is asked for one. To be read for each request, since its file may change. */
  readonly token: string | null;
}

export interface ReadHttp {
  /** Null when no port is set. */
  readonly http: HttpConfig | null;
  readonly token: string | null;
  readonly mistakes: readonly Mistake[];
}

/** An address that other machines can reach needs a token. */
export function readHttp(read: ReadSettings, cwd: string, rotation: Rotation): ReadHttp {
  const { httpPort: port, httpHost: host } = read.values;
  const { token, live, mistakes } = readSecret(read, cwd, 'httpToken', rotation);
  const isSet = read.origins.has('httpToken') || read.origins.has('httpTokenFile');
  if (port === null || isSet || isLoopback(host)) {
    if (port === null) return { http: null, token, mistakes };
    const http = {
      host,
      port,
      get token() {
        return live?.value ?? token;
      },
    };
    return { http, token, mistakes };
  }
  const expected = 'a token in HIGHWATER_HTTP_TOKEN, or a file of it in HIGHWATER_HTTP_TOKEN_FILE';
  const problem = `is not set, expected ${expected}, since other machines can reach ${host}`;
  return { http: null, token, mistakes: [{ key: 'httpToken', where: null, problem }] };
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
