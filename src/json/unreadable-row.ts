import { createHash } from 'node:crypto';

/** A row that was not parsed, since it would take too much memory. Its id and time stamp are known if they could be found. */
export class UnreadableRow {
  constructor(
    readonly id: unknown,
    readonly updated: unknown,
    readonly reason: string,
    /** The beginning of its text. */
    readonly raw: string,
    readonly whole: WholeText,
  ) {}
}

/** Ends the reason of a row from whose text the members of `omit` cannot be removed. */
export const TEXT_NOT_KEPT = '; its text is not kept, because the feed has omit';

export interface WholeText {
  /** Hexadecimal. */
  readonly sha256: string;
  readonly bytes: number;
}

export function wholeOf(text: string): WholeText {
  return { sha256: createHash('sha256').update(text).digest('hex'), bytes: Buffer.byteLength(text) };
}
