import { createRandom } from '../../src/simulator/random';
import type { Fate, KafkaProxy, ProxyWatch } from '../support/kafka-proxy';

export interface TornMessages {
  readonly seed: number;
  /** Every n-th message in each direction, of any kind. */
  readonly every: number;
  /** No more than so many in each direction. */
  readonly times: number;
}

/**
 * Cuts connections in the middle of a message, at any of its bytes, in both directions.
 * @returns a watch that counts the cuts of both directions
 */
export function tearMessages({ seed, every, times }: TornMessages, proxy: KafkaProxy): ProxyWatch {
  const random = createRandom(seed);
  const tear = ({ bytes }: { readonly bytes: number }): Fate => {
    // Half of them near the front, where the length and the id are.
    const after = random.int(1, random.pick([12, bytes]));
    return { after, ends: 'cut' };
  };
  const watches = (['request', 'answer'] as const).map((where) =>
    proxy.at({ where, nth: every, every, times }, tear),
  );
  return {
    met: () => watches.reduce((sum, watch) => sum + watch.met(), 0),
    remove() {
      for (const watch of watches) watch.remove();
    },
  };
}
