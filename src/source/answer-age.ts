import { performance } from 'node:perf_hooks';
import type { RawResponse } from './response-policy';
import { serverDateMs } from './retry';

export type AnswerAges = ReturnType<typeof answerAges>;

/** Addresses whose answers are remembered, and answers of each: several caches may take turns. */
const MOST_ADDRESSES = 500;
const MOST_ANSWERS = 4;
/** A `Date` has whole seconds, so an equal one may be from the second before. */
const LEAST_AGE_MS = 2_000;

/**
 * How old answers are: a cache between here and the API may give the same answer again.
 * @param steadyMs a clock that does not step
 */
export function answerAges(steadyMs = () => performance.now()) {
  /** By address: the `Date` of the last answers, ms → when it came first, by both clocks. */
  const seen = new Map<string, Map<number, readonly [steadyMs: number, nowMs: number]>>();
  let hasCache = false;

  /** @returns for how long this `Date` has been coming */
  function repeatedFor(address: string, date: number, nowMs: number): number {
    const steady = steadyMs();
    const dates = seen.get(address) ?? new Map<number, readonly [number, number]>();
    seen.delete(address);
    seen.set(address, dates);
    if (seen.size > MOST_ADDRESSES) seen.delete(seen.keys().next().value!);
    const first = dates.get(date);
    if (first !== undefined) return Math.round(Math.min(steady - first[0], nowMs - first[1]));
    dates.set(date, [steady, nowMs]);
    if (dates.size > MOST_ANSWERS) dates.delete(dates.keys().next().value!);
    return 0;
  }

  return {
    /**
     * Age of an answer that has just come, whole ms; 0 if nothing shows an age. `Age` says it. A cache without it repeats the `Date` of an
     * earlier answer from the same address. A `Date` that only goes back shows no cache, since servers' clocks differ.
     * @param nowMs own clock. Time has passed only if this clock and one that does not step agree on it.
     */
    ageOf(address: string, headers: RawResponse['headers'], nowMs: number): number {
      const date = serverDateMs(headers.date);
      const repeated = date === null ? 0 : repeatedFor(address, date, nowMs);
      const age = Math.min(nowMs, Math.max(ageIn(headers.age), repeated < LEAST_AGE_MS ? 0 : repeated));
      hasCache ||= age > 0;
      return age;
    },
    /** Whether any answer so far has had an age. */
    get hasCache(): boolean {
      return hasCache;
    },
  };
}

/** Several caches may have written one each. */
function ageIn(header: string | undefined): number {
  const seconds = (header ?? '').split(',').map((part) => (/^\s*\d+\s*$/.test(part) ? Number(part) : 0));
  return Math.max(...seconds) * 1_000;
}
