import { BlockList, isIPv4, isIPv6 } from 'node:net';
import { createRedactor } from '../secrets/redaction';
import { type ConfigInput, readConfigFile } from './files/read-config-file';
import { isSecretSet, readSecret } from './files/secrets';
import { configError, type Mistake } from './mistake';
import { concerns, findUnknown, type Loading, readSettings } from './raw-settings';

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

/**
 * Host and port at which a publisher with the same settings answers on its own machine: `127.0.0.1:9464`. Other settings, right or
 * wrong, are not looked at.
 * @throws HighwaterError CONFIG_INVALID when it has no port, or any free one
 */
export function httpAddress(input: ConfigInput): string {
  const sources = { ...input, file: readConfigFile(input).file };
  const { values, origins, mistakes } = readSettings(sources);
  const wrong = [...sources.file.mistakes, ...findUnknown(sources), ...mistakes].filter((mistake) =>
    concerns(mistake, ['httpPort', 'httpHost']),
  );
  const { httpPort: port, httpHost: host } = values;
  if (wrong.length === 0 && !port) wrong.push(noPort(port, origins.get('httpPort')?.where ?? null));
  if (wrong.length > 0) throw configError(wrong, createRedactor([]));
  const asked = everywhere[host] ?? host;
  return `${asked.includes(':') ? `[${asked}]` : asked}:${port}`;
}

/** All addresses of a machine are none that can be asked. */
const everywhere: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

function noPort(port: number | null, where: string | null): Mistake {
  const problem =
    port === 0
      ? 'is any free port, expected the one to ask'
      : 'is not set, expected the port of the publisher in HIGHWATER_HTTP_PORT, --http-port, or highwater.yaml';
  return { key: 'httpPort', where, problem };
}
