const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A length of time in one unit, for people: `12 s`, `3 min`, `5 h`, `2 d`. */
export function durationText(ms: number): string {
  const length = Math.max(0, ms);
  if (length < 119.5 * SECOND) return `${Math.round(length / SECOND)} s`;
  if (length < 119.5 * MINUTE) return `${Math.round(length / MINUTE)} min`;
  if (length < 47.5 * HOUR) return `${Math.round(length / HOUR)} h`;
  return `${Math.round(length / DAY)} d`;
}

/** A length that somebody has set, such as an interval; a short one is exact: `0.2 s`. */
export function settingText(ms: number): string {
  return ms < 10 * SECOND ? `${ms / SECOND} s` : durationText(ms);
}

/** `12 s ago`; clocks that differ a little make no future. */
export function agoText(ms: number): string {
  return ms < 0.5 * SECOND ? 'now' : `${durationText(ms)} ago`;
}
