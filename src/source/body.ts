/**
 * The body of an answer in the pieces in which it came. A page is megabytes, read once: joined in a buffer of its own each would cost
 * more by what the collector does about such an amount of memory than by the copying.
 */
export class Body {
  readonly length: number;

  constructor(private pieces: readonly Buffer[]) {
    this.length = pieces.reduce((sum, { length }) => sum + length, 0);
  }

  copyTo(target: Buffer, start: number): void {
    let at = start;
    for (const piece of this.pieces) at += piece.copy(target, at);
  }

  /** All of it, in memory that the next body, whoever's, is written to. */
  shared(): Buffer {
    if (this.pieces.length === 1) return this.pieces[0]!;
    if (this.length > MOST_JOINED_BYTES) return Buffer.concat(this.pieces);
    if (joined.length < this.length)
      joined = Buffer.allocUnsafeSlow(Math.max(this.length, 2 * joined.length));
    this.copyTo(joined, 0);
    return joined.subarray(0, this.length);
  }

  /** All of it, for as long as anybody has it. */
  kept(): Buffer {
    const whole = this.pieces.length === 1 ? this.pieces[0]! : Buffer.concat(this.pieces);
    this.pieces = [whole];
    return whole;
  }
}

/** Memory for larger ones is given back. */
const MOST_JOINED_BYTES = 16 * 1024 * 1024;

/** Whoever reads a body awaits nothing before the end of it. */
let joined = Buffer.alloc(0);
