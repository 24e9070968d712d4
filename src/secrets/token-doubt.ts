/** A failure of one feed's requests that a token which is over explains, but other faults as well. */
export interface TokenDoubt {
  /** A page was read with the token in use. */
  hasWorked: boolean;
  /** No other token helped, or there is none. */
  isVain: boolean;
}

/** The shortest time from one replacement of a doubtful token to the next, ms. */
const LEAST_MS = 5 * 60_000;
/** While no token helps, the time doubles up to this, ms. */
const MOST_MS = 60 * 60_000;

/** How often one token is replaced on doubt. If the fault is another one, its server is asked in vain. */
export class TokenDoubts {
  private at = Number.NEGATIVE_INFINITY;
  private pauseMs = LEAST_MS;

  /** @param gotAt when the token in use came. @returns whether to replace it now */
  isDue({ hasWorked, isVain }: TokenDoubt, gotAt: number): boolean {
    const isSudden = hasWorked && !isVain;
    const sinceMs = performance.now() - (isSudden ? this.at : Math.max(this.at, gotAt));
    if (sinceMs < (isSudden ? LEAST_MS : this.pauseMs)) return false;
    this.at = performance.now();
    this.pauseMs = isSudden ? LEAST_MS : Math.min(2 * this.pauseMs, MOST_MS);
    return true;
  }
}
