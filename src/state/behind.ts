/** After so many intervals without a complete scan a feed is behind. */
const INTERVALS = 3;

/** @param lastCompleteScanMs null: there was none yet */
export function isBehind(lastCompleteScanMs: number | null, pollIntervalMs: number, nowMs: number): boolean {
  return lastCompleteScanMs === null || nowMs - lastCompleteScanMs > INTERVALS * pollIntervalMs;
}
