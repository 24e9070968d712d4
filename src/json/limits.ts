/**
 * Levels of lists and objects that a row may have, itself included. Deeper JSON cannot be compared or written without an overflow of
 * the stack, here or in the program of a reader.
 */
export const MOST_DEPTH = 500;

export const TOO_DEEP = `the row is nested more than ${MOST_DEPTH} levels deep`;

export function isTooDeep(value: unknown, levels = MOST_DEPTH): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  for (const name in value) {
    if (isTooDeep((value as Record<string, unknown>)[name], levels - 1)) return true;
  }
  return false;
}

/** Values within one row. Parsed, the smallest value takes many times the two bytes that it takes as text. */
export const MOST_ROW_VALUES = 1_000_000;

/** A smaller answer is parsed as one: that takes some ms and, at worst, some ten megabytes. It has no row of too many values. */
export const SMALL_ANSWER_BYTES = 2 ** 20;

/** Limits of one answer. A few bytes of text can become an object in memory, so a limit of the bytes is not enough. */
export interface AnswerLimits {
  readonly rows: number;
  /** Lists and objects in all rows, these included. */
  readonly nodes: number;
}

/** A server that ignores paging may send everything in one answer. So the limits are far above a page, in proportion to the bytes. */
export function answerLimits(bodyLimitBytes: number): AnswerLimits {
  return {
    rows: Math.max(100_000, Math.floor(bodyLimitBytes / 256)),
    nodes: Math.max(1_000_000, Math.floor(bodyLimitBytes / 32)),
  };
}
