import { retrying } from '../../../async/retrying';
import { unlessAborted } from '../../../async/wait';
import type { Outage } from '../../../logging/outage';
import type { Cluster } from './cluster';
import { type Asked, kafkaFailure, passesByItself } from './kafka-failure';

const PAUSE_MS = 100;

export interface Persistence {
  /** Asks for the leaders again before each further try. Left out if `work` opens a new connection each time. */
  readonly cluster?: Cluster;
  readonly doing: string;
  readonly forMs: number;
  readonly signal: AbortSignal;
  /** As `kafkaFailure` takes it. */
  readonly asked?: Asked;
  /** Called before each further try, after the leaders were asked for. */
  recover?(failure: unknown): Promise<void>;
  /** Tells people if it takes long. `work` calls `over` if it succeeds, but does not return yet. */
  readonly outage?: Outage;
}

/**
 * Tries again while leaders move and brokers come back.
 * @throws HighwaterError KAFKA_*, LOG_FAILED, also from `recover` if it does not pass by itself; the signal's reason
 */
export async function persistently<T>(
  work: () => Promise<T>,
  { cluster, doing, forMs, signal, asked, recover, outage }: Persistence,
): Promise<T> {
  async function tried<Result>(one: () => Promise<Result>): Promise<Result> {
    signal.throwIfAborted();
    try {
      return await unlessAborted(one(), signal);
    } catch (error) {
      signal.throwIfAborted();
      throw kafkaFailure(error, doing, asked);
    }
  }
  outage?.began();
  const found = await retrying(() => tried(work), {
    signal,
    forMs,
    isWorthIt: passesByItself,
    pauseMs: PAUSE_MS,
    async recover(failure) {
      outage?.failed(failure);
      try {
        // The known leaders may be wrong.
        await tried(async () => cluster?.refreshMetadata().catch(() => undefined));
        if (recover !== undefined) await tried(() => recover(failure));
      } catch (error) {
        if (!signal.aborted && !passesByItself(error)) throw error;
      }
    },
  }).catch((error: unknown) => {
    // The caller reports the error.
    outage?.end();
    throw error;
  });
  outage?.over();
  return found;
}
