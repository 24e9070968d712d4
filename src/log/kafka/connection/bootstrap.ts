import type { ISocketFactory } from 'kafkajs';

interface Address {
  readonly address: string;
  /** Both by performance.now(). -1: never. */
  begunAt: number;
  heardAt: number;
}

/**
 * Chooses the address at which a client begins: the one that answered last. An address that has not answered since a client began
 * there comes last. kafkajs begins at the first address of its list and goes on only if the connection is refused. A broker that hangs
 * takes connections: while the first of the list hung, no producer, reader or member started.
 */
export function bootstrap(addresses: readonly string[], now = () => performance.now()) {
  const known = addresses.map((address): Address => {
    return { address, begunAt: -1, heardAt: Number.NEGATIVE_INFINITY };
  });
  const isHeard = ({ begunAt, heardAt }: Address): boolean => heardAt >= begunAt;
  return {
    /** Called by kafkajs whenever it begins: the only address to begin at. */
    async next(): Promise<string[]> {
      // The silent ones in the order in which they were begun at; before any beginning, as they are listed.
      const byAnswer = (a: Address, b: Address): number =>
        Number(isHeard(b)) - Number(isHeard(a)) ||
        (isHeard(a) ? b.heardAt - a.heardAt : a.begunAt - b.begunAt);
      const [best] = known.toSorted(byAnswer);
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
