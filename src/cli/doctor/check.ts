import { HighwaterError } from '../../errors';
import { durationText } from '../../format/durations';

/** Result of one check of the installation. */
export interface Check {
  /** The subject of the check: `token`, `topics`. */
  readonly check: string;
  /** Where a feed has a check of its own. */
  readonly feed: string | null;
  /** `warning`: it works, and somebody should know. `skipped`: not set, or of no use before something else is fixed. */
  readonly state: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly found: string;
  /** The error that a publisher would have. */
  readonly code: string | null;
  /** The remedy. */
  readonly remedy: string | null;
}

export type Checks = AsyncGenerator<Check> | Generator<Check>;

export type Subject = string | { readonly check: string; readonly feed: string };

export function ok(subject: Subject, found: string): Check {
  return { ...named(subject), state: 'ok', found, code: null, remedy: null };
}

export function warning(subject: Subject, found: string, remedy: string): Check {
  return { ...named(subject), state: 'warning', found, code: null, remedy };
}

export function failed(subject: Subject, found: string, remedy: string, code: string | null = null): Check {
  return { ...named(subject), state: 'failed', found, code, remedy };
}

export function skipped(subject: Subject, found: string): Check {
  return { ...named(subject), state: 'skipped', found, code: null, remedy: null };
}

/** Operators' commands need these, but publishing does not, so problems are only warnings. */
export function forCommands(check: Check): Check {
  if (check.state !== 'failed') return check;
  const found = `${check.found}; publishing works without, but commands of operators do not reach a publisher`;
  return { ...check, state: 'warning', found };
}

/** @throws the error when it is a fault of the program */
export function failedBy(subject: Subject, error: unknown): Check {
  if (!(error instanceof HighwaterError)) throw error;
  return failed(subject, error.message, error.remedy, error.code);
}

function named(subject: Subject): Pick<Check, 'check' | 'feed'> {
  return typeof subject === 'string' ? { check: subject, feed: null } : subject;
}

/** Clocks agree within these: an answer's whole seconds and its way explain the difference. */
export const clockToleranceMs = 5_000;

/** A warning if the clock of this machine is far from a server's. @param aheadMs null: it does not tell */
export function okByClock(subject: Subject, found: string, aheadMs: number | null, whose: string): Check {
  if (aheadMs === null || Math.abs(aheadMs) <= clockToleranceMs) return ok(subject, found);
  const apart = `${durationText(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead of' : 'behind'}`;
  return warning(
    subject,
    `${found}; the clock of this machine is ${apart} ${whose}`,
    'Set the clocks by NTP. Brokers refuse records that are more than message.timestamp.after.max.ms (1 h by default) ahead of their own clock.',
  );
}
