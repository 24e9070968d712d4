/** Counts by spans of time of equal length, the last ones only. */
export interface TimeSlots {
  add(count: number): void;
  /** Oldest first, the span under way last. */
  counts(): number[];
}

/** @param clock ms, never set back */
export function timeSlots(slots: number, lengthMs: number, clock: () => number): TimeSlots {
  const counts: number[] = new Array(slots).fill(0);
  let at = Math.floor(clock() / lengthMs);

  function moveOn(): void {
    const now = Math.floor(clock() / lengthMs);
    for (let slot = Math.max(at + 1, now - slots + 1); slot <= now; slot++) counts[slot % slots] = 0;
    at = now;
  }

  return {
    add(count) {
      moveOn();
      counts[at % slots]! += count;
    },
    counts() {
      moveOn();
      return Array.from({ length: slots }, (_, i) => counts[(at + 1 + i) % slots]!);
    },
  };
}
