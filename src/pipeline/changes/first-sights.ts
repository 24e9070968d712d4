import type { Change } from '../../types';

/** A server may lag for so long. */
const LAG_MS = 900_000;
/** Older rows than this are most often imported or published again. */
const LATE_SECONDS = 300;
const MOST_RECORDS = 10_000;

/** The youngest change of so many pages counts. */
const MOST_PAGES = 16;
/** So many pages tell that changes are hidden for long. */
const FEW = 3;
/** A record that is written again meanwhile stays hidden, so its second look comes after so many times. */
const HIDDEN_TIMES = 10;

/**
 * When rows were first seen, if they have no time, or one that was old by then. Times are those of observation, Unix ms.
 *
 * A server that lags does not show a new record yet, and no row at its time tells that the server is up to date.
 */
export class FirstSights {
  private readonly seen = new Map<string, number>();
  /** How old the youngest change of each page was, ms. */
  private readonly ages: number[] = [];
  private firstMs: number | null = null;
  private latestMs = 0;

  /** @param othersMs all other records were first seen by then; 0: long ago */
  constructor(private othersMs: number) {}

  /** @param updated of its record, Unix seconds; null: it has no time */
  note(
    { id, op, before }: Pick<Change, 'id' | 'op' | 'before'>,
    updated: number | null,
    nowMs: number,
  ): void {
    const isLate = op === 'c' && updated !== null && nowMs / 1_000 - updated > LATE_SECONDS;
    if (before !== null || !(isLate || updated === null)) return;
    if (this.seen.size === MOST_RECORDS) this.forget(nowMs);
    this.seen.set(id, nowMs);
  }

  /** Whether a server that lags may not show the record yet. */
  isRecent(id: string, nowMs: number): boolean {
    return nowMs - (this.seen.get(id) ?? this.othersMs) < LAG_MS;
  }

  /** @param updated of the changes of a page that a poll has read, Unix seconds */
  noteChanges(updated: readonly number[], nowMs: number): void {
    this.firstMs ??= nowMs;
    this.latestMs = nowMs;
    if (updated.length === 0) return;
    this.ages.push(nowMs - 1_000 * updated.reduce((latest, one) => Math.max(latest, one)));
    if (this.ages.length > MOST_PAGES) this.ages.shift();
  }

  /**
   * How long to wait before a record that was not shown is looked for again. Some APIs leave out the rows of the last minute: a record that
   * is written is on no page for so long. Then no poll finds a change that is younger. If all are older than any pause, the API more likely
   * tells times by the hour or the day. If no run has told yet, it takes a few polls; the longest pause needs none of them.
   * @param pollMs interval of polls: changes may be as old as that anyway
   * @param toldMs least age that was told before
   */
  pauseMs(pollMs: number, toldMs: number): number {
    const { ages, firstMs, latestMs } = this;
    const least = this.leastAgeMs(pollMs, toldMs);
    const isHidden = least > pollMs / 2 && least < LAG_MS;
    const isUntold = least === 0 && ages.length < FEW;
    const untold = isUntold ? FEW * pollMs - (latestMs - (firstMs ?? latestMs)) : 0;
    return Math.max(pollMs, Math.min(LAG_MS, isHidden ? HIDDEN_TIMES * least : untold));
  }

  /** @returns how old the youngest of the latest changes was, at least 1 ms; `toldMs` while they are too few to tell */
  leastAgeMs(pollMs: number, toldMs: number): number {
    const { ages } = this;
    const least = Math.min(...ages);
    // Changes from a time without polls are old on every API. So a few old pages do not undo what was told.
    const enough = least >= LAG_MS ? MOST_PAGES : least > pollMs + 5_000 ? FEW : 8;
    return ages.length < enough ? toldMs : Math.max(1, Math.round(least));
  }

  /** Records that may be recent need no time of their own when too many are. */
  private forget(nowMs: number): void {
    for (const [id, ms] of this.seen) if (nowMs - ms >= LAG_MS) this.seen.delete(id);
    if (this.seen.size < MOST_RECORDS) return;
    this.seen.clear();
    this.othersMs = nowMs;
  }
}
