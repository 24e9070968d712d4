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

export interface WholeText {
  /** Hexadecimal. */
  readonly sha256: string;
  readonly bytes: number;
}
