import { retrying } from '../../../async/retrying';
import { unlessAborted } from '../../../async/wait';
import type { Cluster } from './cluster';
import { kafkaFailure, passesByItself } from './kafka-failure';

const PAUSE_MS = 100;

export interface Persistence {
  readonly cluster: Cluster;
  readonly doing: string;
  readonly forMs: number;
  readonly signal: AbortSignal;
}

/** Tries again while leaders move and brokers come back. @throws HighwaterError KAFKA_*, LOG_FAILED; the signal's reason */
export function persistently<T>(
  work: () => Promise<T>,
  { cluster, doing, forMs, signal }: Persistence,
): Promise<T> {
  const tried = async () => {
    signal.throwIfAborted();
    try {
      return await unlessAborted(work(), signal);
    } catch (error) {
      signal.throwIfAborted();
      throw kafkaFailure(error, doing);
    }
  };
  return retrying(tried, {
    signal,
    forMs,
    isWorthIt: passesByItself,
    pauseMs: PAUSE_MS,
    // What is known of the leaders may be what was wrong.
    recover: () => unlessAborted(cluster.refreshMetadata(), signal).catch(() => undefined),
  });
}
