/**
 * The body of an answer in the pieces in which it came. A page has megabytes and is read once. If each page had its own joined buffer,
 * the garbage collector would take more time than the copying.
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

  /** Its first bytes, as far as it has them. */
  head(bytes: number): Buffer {
    let head = Buffer.alloc(0);
    for (const piece of this.pieces) {
      if (head.length >= bytes) break;
      head = Buffer.concat([head, piece.subarray(0, bytes - head.length)]);
    }
    return head;
  }

  /** The whole body, in memory that the next body overwrites. */
  shared(): Buffer {
    if (this.pieces.length === 1) return this.pieces[0]!;
    if (this.length > MOST_JOINED_BYTES) return Buffer.concat(this.pieces);
    if (joined.length < this.length)
      joined = Buffer.allocUnsafeSlow(Math.max(this.length, 2 * joined.length));
    this.copyTo(joined, 0);
    return joined.subarray(0, this.length);
  }

  /** The whole body, in memory of its own. */
  kept(): Buffer {
    const whole = this.pieces.length === 1 ? this.pieces[0]! : Buffer.concat(this.pieces);
    this.pieces = [whole];
    return whole;
  }
}

/** The memory of a larger body is given back. */
const MOST_JOINED_BYTES = 16 * 1024 * 1024;

/** Shared by all bodies: the reader of a body must not await before its end. */
let joined = Buffer.alloc(0);
