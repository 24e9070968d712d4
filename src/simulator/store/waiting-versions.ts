import type { Version } from './view';

/** Versions that are written but not shown yet. */
export interface WaitingVersions {
  add(version: Version): void;
  /** Removes and returns versions that are visible by now, in the order of writing. */
  takeDue(nowMs: number): Version[];
  newest(key: string): Version | undefined;
  drop(key: string): void;
}

export function createWaitingVersions(): WaitingVersions {
  let waiting: Version[] = [];
  // Asked at every request: without it each would pass over the whole list.
  let earliest = Number.POSITIVE_INFINITY;
  return {
    add(version) {
      waiting.push(version);
      earliest = Math.min(earliest, version.visibleFromMs);
    },
    takeDue(nowMs) {
      if (earliest > nowMs) return [];
      const due = waiting.filter((version) => version.visibleFromMs <= nowMs);
      waiting = waiting.filter((version) => version.visibleFromMs > nowMs);
      earliest = waiting.reduce(
        (least, version) => Math.min(least, version.visibleFromMs),
        Number.POSITIVE_INFINITY,
      );
      return due;
    },
    newest: (key) => waiting.findLast((version) => version.key === key),
    drop(key) {
      waiting = waiting.filter((version) => version.key !== key);
    },
  };
}
