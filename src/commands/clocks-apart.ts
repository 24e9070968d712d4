import type { CommandRecord } from './command-record';

/**
 * Tells how far this clock is ahead of the askers' clocks, from the requests that had expired by it when they were
 * read. Those of yesterday have, too, when the topic is read from its beginning; but there the withdrawal of a request
 * follows at once, and one that was asked for just now has an asker who waits for the answer before it withdraws.
 */
export interface ClocksApart {
  /** A request that was passed over, since it had expired. @param readAt monotonic, ms */
  passedOver(request: Stamped, readAt: number): void;
  /**
   * The record that decided a request.
   * @param now by the own clock, ms
   * @returns the ms by which the own clock is ahead of the asker's; null if the request was not passed over, or is old
   */
  settled(record: Stamped & Pick<CommandRecord, 'kind'>, readAt: number, now: number): number | null;
}

type Stamped = Pick<CommandRecord, 'request_id' | 'ts_ms'>;

/** An asker that withdraws sooner was interrupted, which says nothing about the clocks. */
const leastWaitMs = 500;
/** No asker waits this long for an owner. */
const forgetAfterMs = 3_600_000;

export function clocksApart(): ClocksApart {
  const passed = new Map<string, { readonly askedMs: number; readonly readAt: number }>();
  return {
    passedOver({ request_id, ts_ms }, readAt) {
      for (const [id, one] of passed) if (readAt - one.readAt > forgetAfterMs) passed.delete(id);
      passed.set(request_id, { askedMs: ts_ms, readAt });
    },
    settled({ request_id, ts_ms, kind }, readAt, now) {
      const request = passed.get(request_id);
      if (request === undefined) return null;
      passed.delete(request_id);
      const waited = ts_ms - request.askedMs;
      const isLive = waited >= leastWaitMs && readAt - request.readAt >= waited / 2;
      return kind === 'withdrawn' && isLive ? now - ts_ms : null;
    },
  };
}
