/**
 * Memory for encoded values, side by side in large pieces. A separate buffer for each value would cost more than encoding it, both
 * when it is made and when it is collected. A kept value is never overwritten. It keeps its whole piece in memory, so copy a
 * value that lives long.
 */
export class Arena {
  /** The piece in use, and where the next value begins in it. */
  piece = Buffer.alloc(0);
  at = 0;

  /** Makes room for `bytes` after `at`. */
  reserve(bytes: number): void {
    if (this.at + bytes <= this.piece.length) return;
    this.piece = Buffer.allocUnsafeSlow(Math.max(PIECE_BYTES, bytes));
    this.at = 0;
  }

  /** The bytes from `at` to `end`. The next value overwrites them unless they are kept. */
  written(end: number): Buffer {
    return this.piece.subarray(this.at, end);
  }

  /** A kept copy. */
  copyOf(bytes: Buffer): Buffer {
    this.reserve(bytes.length);
    bytes.copy(this.piece, this.at);
    return this.keep(this.written(this.at + bytes.length));
  }

  /** @throws RangeError unless these are the last bytes that were written */
  keep(written: Buffer): Buffer {
    if (written.buffer !== this.piece.buffer || written.byteOffset !== this.piece.byteOffset + this.at)
      throw new RangeError('memory that must be kept was overwritten');
    this.at += written.length;
    return written;
  }
}

const PIECE_BYTES = 512 * 1024;

/** Encoding never awaits, so one arena serves all types of all feeds. */
export const arena = new Arena();
