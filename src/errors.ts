/**
 * Every error that a person may meet, in one table. `docs/operations.md` has a section per code, and a test holds the two
 * together. A message has three parts: what happened (with the values), what the program does now, what to do.
 */
export interface ErrorKind {
  /** Exit code of a command that ends by it. */
  readonly exit: 1 | 2 | 3;
  /** Worth another try without a person doing anything. */
  readonly retriable: boolean;
  /** The feed is parked: retried slowly, because only a person can mend it. */
  readonly parks: boolean;
  /** What the program does now, unless the place that throws knows better. */
  readonly now: string;
  /** What to do. */
  readonly remedy: string;
}

export const errorKinds = {
  LOG_OWNED: {
    exit: 1,
    retriable: true,
    parks: false,
    now: 'Nothing was started.',
    remedy: 'Stop the other publisher, or give this one a folder of its own (HIGHWATER_DATA_DIR).',
  },
  LOG_FENCED: {
    exit: 1,
    retriable: true,
    parks: false,
    now: 'This publisher lets go of the feed and writes nothing more.',
    remedy:
      'Nothing, when another publisher took over on purpose; else look for a second one on the same log.',
  },
  SCHEMA_INCOMPATIBLE: {
    exit: 1,
    retriable: false,
    parks: true,
    now: 'Nothing was published with it.',
    remedy: 'Make the new field nullable with a default, or give it a new name.',
  },
  SCHEMA_UNKNOWN: {
    exit: 1,
    retriable: false,
    parks: false,
    now: 'The record cannot be decoded.',
    remedy: 'Point to the registry or data folder that the record was written with.',
  },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof errorKinds;

export class HighwaterError extends Error {
  readonly code: ErrorCode;
  readonly now: string;
  readonly remedy: string;

  /** @param what what happened, with the values; never a secret */
  constructor(
    code: ErrorCode,
    what: string,
    details: { now?: string; remedy?: string; cause?: unknown } = {},
  ) {
    super(what, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'HighwaterError';
    this.code = code;
    this.now = details.now ?? errorKinds[code].now;
    this.remedy = details.remedy ?? errorKinds[code].remedy;
  }

  get kind(): ErrorKind {
    return errorKinds[this.code];
  }
}
