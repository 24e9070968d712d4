/**
 * Memory for encoded values, side by side in large pieces: a buffer of its own for each would cost more than encoding it, twice,
 * when it is made and when it is collected. What is kept is never overwritten. A value that is held for long holds a whole piece:
 * whoever does copies it.
 */
export class Arena {
  /** The piece in use, and where the next value begins in it. */
  piece = Buffer.alloc(0);
  at = 0;

  /** Makes sure that so many bytes fit behind `at`. */
  reserve(bytes: number): void {
    if (this.at + bytes <= this.piece.length) return;
    this.piece = Buffer.allocUnsafeSlow(Math.max(PIECE_BYTES, bytes));
    this.at = 0;
  }

  /** What was written from `at` to `end`. The next value is written over it, unless it is kept. */
  written(end: number): Buffer {
    return this.piece.subarray(this.at, end);
  }

  /** These bytes, for good. */
  copyOf(bytes: Buffer): Buffer {
    this.reserve(bytes.length);
    bytes.copy(this.piece, this.at);
    return this.keep(this.written(this.at + bytes.length));
  }

  /** @throws RangeError unless these are the bytes written last */
  keep(written: Buffer): Buffer {
    if (written.buffer !== this.piece.buffer || written.byteOffset !== this.piece.byteOffset + this.at)
      throw new RangeError('what is to be kept was written over');
    this.at += written.length;
    return written;
  }
}

const PIECE_BYTES = 512 * 1024;

/** Encoding awaits nothing: one is enough for all types of all feeds. */
export const arena = new Arena();
