import { type ErrorKind, errorGroups } from './errors/table';

type Groups = typeof errorGroups;

/** Codes of all errors, explained in `docs/errors.md`. */
export type ErrorCode = { [Group in keyof Groups]: keyof Groups[Group] }[keyof Groups];

export const errorKinds: Readonly<Record<ErrorCode, ErrorKind>> = Object.assign(
  {},
  ...Object.values(errorGroups),
);

/** An error for people. The message says what happened, `now` what the program does now, `remedy` what to do. */
export class HighwaterError extends Error {
  readonly code: ErrorCode;
  readonly now: string;
  readonly remedy: string;
  /** How long the server asked to wait, ms. */
  retryAfterMs: number | undefined;

  /** @param what the message, with the values and without secrets */
  constructor(
    code: ErrorCode,
    what: string,
    details: { now?: string; remedy?: string; retryAfterMs?: number | undefined; cause?: unknown } = {},
  ) {
    super(what, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'HighwaterError';
    this.code = code;
    this.now = details.now ?? errorKinds[code].now;
    this.remedy = details.remedy ?? errorKinds[code].remedy;
    this.retryAfterMs = details.retryAfterMs;
  }

  get kind(): ErrorKind {
    return errorKinds[this.code];
  }
}

/** The first sentence of a code's explanation. */
export function summaryOf(code: ErrorCode): string {
  return errorKinds[code].what.replace(/(?<=\.) .*/, '');
}
