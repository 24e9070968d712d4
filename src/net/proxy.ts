import { BlockList, isIP } from 'node:net';
import { unescape as decodePercent } from 'node:querystring';
import { getProxyForUrl } from 'proxy-from-env';

/** The proxy that the environment names for an address, its user and password decoded: axios would send them as they are written. */
export function proxyFor(url: string) {
  const named = withScheme(getProxyForUrl(url));
  if (!URL.canParse(named) || isNearby(new URL(url).hostname)) return null;
  const { protocol, hostname: host, port, username, password } = new URL(named);
  const auth = { username: decodePercent(username), password: decodePercent(password) };
  return {
    protocol,
    host,
    port: Number(port || (protocol === 'https:' ? 443 : 80)),
    ...(username && { auth }),
  };
}

/** Without a scheme in the environment, `proxy-from-env` takes that of the address. Other programs speak HTTP to such a proxy. */
function withScheme(named: string): string {
  const [, bare] = /^https:\/\/(.*)/.exec(named) ?? [];
  return bare !== undefined && Object.values(process.env).includes(bare) ? `http://${bare}` : named;
}

/** NO_PROXY may name networks, as clusters do (10.0.0.0/8). `proxy-from-env` knows only names, and axios trusts a proxy that it is given. */
function isNearby(hostname: string): boolean {
  const networks = new BlockList();
  for (const entry of (process.env.no_proxy || process.env.NO_PROXY || '').split(/[\s,]+/)) {
    const [named = '', bits] = entry.split('/');
    const address = addressOf(named);
    const most = { 0: -1, 4: 32, 6: 128 }[isIP(address)]!;
    const prefix = Number(bits || most);
    if (Number.isInteger(prefix) && prefix >= 0 && prefix <= most)
      networks.addSubnet(address, prefix, most === 32 ? 'ipv4' : 'ipv6');
  }
  const host = addressOf(hostname);
  return isIP(host) > 0 && networks.check(host, isIP(host) === 4 ? 'ipv4' : 'ipv6');
}

/** All spellings of the own machine are one. */
function addressOf(host: string): string {
  const bare = host.replace(/^\[|\]$|\.$/g, '');
  return /^(localhost|::1|127\.[\d.]+)$/i.test(bare) ? '127.0.0.1' : bare;
}
