import type { ErrorCode } from '../errors';

export interface SourceFailure {
  readonly kind: 'failure';
  readonly code: ErrorCode;
  /** What happened, with the values, secrets already removed. */
  readonly what: string;
  /** How long the API asks to wait, ms; absent when it does not say. */
  readonly retryAfterMs?: number;
}

export function failure(code: ErrorCode, what: string): SourceFailure {
  return { kind: 'failure', code, what };
}
