import type { ISocketFactory } from 'kafkajs';

interface Address {
  readonly address: string;
  /** Both by performance.now(). */
  begunAt: number;
  heardAt: number;
}

/**
 * Chooses the address at which a client begins. kafkajs begins every client at the first address of its list and goes on to the next only if the connection is refused. A broker that
 * hangs takes connections: while the first broker of the list hung, no producer, reader or member started, although the other brokers
 * led everything. So clients begin at the address that answered last. An address that has not answered since a client began there
 * comes last.
 */
export function bootstrap(addresses: readonly string[], now = () => performance.now()) {
  const known = addresses.map((address): Address => {
    return { address, begunAt: Number.NEGATIVE_INFINITY, heardAt: Number.NEGATIVE_INFINITY };
  });
  const isHeard = ({ begunAt, heardAt }: Address): boolean => Number.isFinite(heardAt) && heardAt >= begunAt;
  return {
    /** Called by kafkajs whenever it begins: the only address to begin at. */
    async next(): Promise<string[]> {
      const [best] = [...known].sort(
        (a, b) =>
          Number(isHeard(b)) - Number(isHeard(a)) || (isHeard(a) ? b.heardAt - a.heardAt : later(a, b)),
      );
      best!.begunAt = now();
      return [forKafkajs(best!.address)];
    },
    /** The same sockets; it is noted when something arrives on them. */
    watched: (factory: ISocketFactory) => (given: Parameters<ISocketFactory>[0]) => {
      const host = asWritten(given.host).replace(/^\[|\]$/g, '');
      const socket = factory({ ...given, host });
      const found = known.find(({ address }) => address === addressOf(host, given.port));
      // kafkajs adds a listener of its own.
      socket.on('data', () => {
        if (found !== undefined) found.heardAt = now();
      });
      return socket;
    },
  };
}

/** `[::1]:9092` or `broker-1:9092`. */
export function addressOf(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** kafkajs takes the text before the first colon for the host. No IPv6 address contains this sign. */
const COLON = '_';

function forKafkajs(address: string): string {
  return address.replace(/^\[.*\]/, (host) => host.replaceAll(':', COLON));
}

/** An address or a host, as kafkajs names it: `[__1]:9092` is `[::1]:9092`. */
export function asWritten(address: string): string {
  return address.replace(/^\[.*\]/, (host) => host.replaceAll(COLON, ':'));
}

/** The address that was begun at longest ago comes first; before any beginning, the first of the list. */
function later(a: Address, b: Address): number {
  return a.begunAt === b.begunAt ? 0 : a.begunAt - b.begunAt;
}
