/** A server may lag for so long. */
const LAG_MS = 900_000;
const MOST_RECORDS = 10_000;

/**
 * When records of a feed without times were first seen. A server that lags does not show a new record yet, and no row tells that the
 * server is up to date. Times are those of observation, Unix ms.
 */
export class FirstSights {
  private readonly seen = new Map<string, number>();

  /** @param othersMs all other records were first seen by then */
  constructor(private othersMs: number) {}

  note(id: string, nowMs: number): void {
    if (this.seen.size === MOST_RECORDS) this.forget(nowMs);
    this.seen.set(id, nowMs);
  }

  /** Whether a server that lags may not show the record yet. */
  isRecent(id: string, nowMs: number): boolean {
    return nowMs - (this.seen.get(id) ?? this.othersMs) < LAG_MS;
  }

  /** Records that may be recent need no time of their own when too many are. */
  private forget(nowMs: number): void {
    for (const [id, ms] of this.seen) if (nowMs - ms >= LAG_MS) this.seen.delete(id);
    if (this.seen.size < MOST_RECORDS) return;
    this.seen.clear();
    this.othersMs = nowMs;
  }
}
