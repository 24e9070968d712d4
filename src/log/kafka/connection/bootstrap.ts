import type { ISocketFactory } from 'kafkajs';

/** Where clients begin, of the addresses that they are given. */
export interface Bootstrap {
  /** For kafkajs, at each beginning: the one address to begin at. */
  next(): Promise<string[]>;
  /** Sockets of the same kind, of which it is noted whether anything ever comes from them. */
  watched(factory: ISocketFactory): ISocketFactory;
}

interface Address {
  readonly address: string;
  /** Both by the own clock, in ms. */
  begunAt: number;
  heardAt: number;
}

/**
 * kafkajs begins every client at the first address of its list, and goes on to the next one only where the connection is
 * refused. A broker that hangs takes connections: while the first of the list did, no producer, reader or member came up,
 * although the other brokers led everything. So clients begin at the address that was heard from last, and at one that
 * was begun at and has said nothing since only when it is the turn of no other.
 */
export function bootstrap(addresses: readonly string[], now = () => performance.now()): Bootstrap {
  const known = addresses.map((address): Address => {
    return { address, begunAt: Number.NEGATIVE_INFINITY, heardAt: Number.NEGATIVE_INFINITY };
  });
  const isHeard = ({ begunAt, heardAt }: Address): boolean => Number.isFinite(heardAt) && heardAt >= begunAt;
  return {
    async next() {
      const [best] = [...known].sort(
        (a, b) =>
          Number(isHeard(b)) - Number(isHeard(a)) || (isHeard(a) ? b.heardAt - a.heardAt : later(a, b)),
      );
      best!.begunAt = now();
      return [best!.address];
    },
    watched: (factory) => (given) => {
      const socket = factory(given);
      const found = known.find(({ address }) => address === `${given.host}:${given.port}`);
      // Beside the listener of kafkajs, which it adds at once, too.
      socket.on('data', () => {
        if (found !== undefined) found.heardAt = now();
      });
      return socket;
    },
  };
}

/** Who was begun at longest ago comes first; of two that never were, the first of the list. */
function later(a: Address, b: Address): number {
  return a.begunAt === b.begunAt ? 0 : a.begunAt - b.begunAt;
}
