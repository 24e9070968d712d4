import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ErrorCode, errorKinds } from '../errors';
import type { SourceFailure } from './source';

export interface RetryLimits {
  /** Requests for one page, the first one included. */
  readonly attempts: number;
  /** From the first request for a page to giving it up, pauses included, ms. */
  readonly totalMs: number;
  /** Greatest pause before the second request, ms; doubled for each further one. */
  readonly baseMs: number;
  /** The doubling ends here, ms. `Retry-After` of the API may be longer. */
  readonly maxMs: number;
}

export interface RetryOptions {
  readonly limits: RetryLimits;
  /** 0 to below 1. */
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** This failure is not tried again. */
  readonly final?: ErrorCode | undefined;
  /** Before each pause. */
  readonly onRetry: (failure: SourceFailure, attempt: number, pauseMs: number) => void;
}

/** Time left for a page. It starts with the first request, not while that request waits for its turn. */
export class PageDeadline {
  private end: number | null = null;

  constructor(private readonly totalMs: number) {}

  start(): void {
    this.end ??= performance.now() + this.totalMs;
  }

  remainingMs(): number {
    return this.end === null ? this.totalMs : Math.max(this.end - performance.now(), 0);
  }
}

/**
 * Tries again as long as the failure is retriable, attempts are left, and the pause ends before the deadline.
 * @returns the last outcome
 * @throws the signal's reason when aborted in a pause
 */
export async function withRetry<T extends { readonly kind: string }>(
  attempt: () => Promise<T | SourceFailure>,
  deadline: Pick<PageDeadline, 'remainingMs'>,
  options: RetryOptions,
): Promise<T | SourceFailure> {
  const { limits, random, signal, onRetry, final } = options;
  for (let attempts = 1; ; attempts++) {
    const outcome = await attempt();
    if (!isFailure(outcome) || outcome.code === final || !errorKinds[outcome.code].retriable) return outcome;
    const pauseMs = backoffMs(outcome, attempts, limits, random);
    const isLast = attempts >= limits.attempts || pauseMs >= deadline.remainingMs();
    if (isLast || signal.aborted) return outcome;
    onRetry(outcome, attempts, pauseMs);
    await sleep(pauseMs, undefined, { signal });
  }
}

/**
 * Full jitter: any pause up to the greatest one, so that many clients do not come back together. A longer pause that the API asks for
 * goes first. A shorter one, such as `Retry-After: 0`, would use up all attempts at once.
 */
export function backoffMs(
  failure: SourceFailure,
  attempts: number,
  limits: RetryLimits,
  random: () => number,
): number {
  const usualMs = random() * Math.min(limits.maxMs, limits.baseMs * 2 ** (attempts - 1));
  return Math.max(usualMs, failure.retryAfterMs ?? 0);
}

function isFailure(outcome: { readonly kind: string }): outcome is SourceFailure {
  return outcome.kind === 'failure';
}

/** Limit of a pause that the API asks for. */
export const longestPauseMs = 3_600_000;

/**
 * How long the API asks to wait, ms: at least 0, at most an hour. Null if it does not say, or if it cannot be read.
 * @param retryAfter seconds or an HTTP date, compared with the answer's own `Date` if there is one, so that different clocks do no
 * harm
 */
export function retryAfterMs(
  retryAfter: string | undefined,
  date: string | undefined,
  nowMs: number,
): number | null {
  if (retryAfter === undefined) return null;
  const text = retryAfter.trim();
  if (/^\d+(\.\d+)?$/.test(text)) return Math.min(Number(text) * 1000, longestPauseMs);
  // Date.parse accepts almost any text with a number, but an HTTP date begins with the day's name.
  const until = /^[A-Za-z]{3}/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(until)) return null;
  return Math.min(Math.max(until - (serverDateMs(date) ?? nowMs), 0), longestPauseMs);
}

/** An answer's `Date` header in ms; null when absent or unreadable. */
export function serverDateMs(date: string | undefined): number | null {
  // Stryker disable next-line ConditionalExpression: Date.parse(undefined) is NaN, too
  const parsed = date === undefined ? Number.NaN : Date.parse(date);
  return Number.isNaN(parsed) ? null : parsed;
}
