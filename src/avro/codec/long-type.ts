import { types } from 'avsc';

/** avsc's reader and writer, as far as longs need them; not in its published types. */
export interface LongTap {
  readonly buf: Buffer;
  pos: number;
  readLong(): number;
  writeLong(value: number): void;
}

/** avsc doubles a long to encode its sign, so these are the longs that it reads and writes without rounding. */
const MOST_OF_AVSC = 2 ** 52;
const LONG_BITS = 64;
const SEVEN_BITS = 0x7fn;

/**
 * A long of all 64 bits: a number, or a `bigint` beyond 2^53, where JavaScript's numbers are rounded. avsc's own type refuses those.
 */
export class WholeLongType extends types.LongType {
  protected _check(value: unknown, _flags: unknown, hook?: (value: unknown, type: unknown) => void): boolean {
    const isLong = isWholeLong(value);
    if (!isLong) hook?.(value, this);
    return isLong;
  }

  protected _read(tap: LongTap): number | bigint {
    const from = tap.pos;
    const value = tap.readLong();
    return value >= -MOST_OF_AVSC && value <= MOST_OF_AVSC ? value : readWideLong(tap.buf, from);
  }

  protected _write(tap: LongTap, value: unknown): void {
    if (typeof value === 'number' && value % 1 === 0 && value >= -MOST_OF_AVSC && value <= MOST_OF_AVSC)
      tap.writeLong(value);
    else if (isWholeLong(value)) writeWideLong(tap, BigInt(value));
    else throw new TypeError(`invalid "long": ${String(value)}`);
  }
}

function isWholeLong(value: unknown): value is number | bigint {
  return typeof value === 'bigint' ? BigInt.asIntN(LONG_BITS, value) === value : Number.isSafeInteger(value);
}

/** @param from first byte of the long, which must be whole */
export function readWideLong(bytes: Uint8Array, from: number): number | bigint {
  let zigzag = 0n;
  let at = from;
  for (let shift = 0n; ; shift += 7n) {
    const byte = bytes[at++] ?? 0;
    zigzag |= (BigInt(byte) & SEVEN_BITS) << shift;
    if (byte < 0x80) break;
  }
  const value = BigInt.asIntN(LONG_BITS, (zigzag >> 1n) ^ -(zigzag & 1n));
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** As in avsc, bytes beyond the end of the memory are counted, but not written. */
function writeWideLong(tap: LongTap, value: bigint): void {
  let rest = BigInt.asUintN(LONG_BITS, (value << 1n) ^ (value >> 63n));
  while (rest > SEVEN_BITS) {
    tap.buf[tap.pos++] = Number(rest & SEVEN_BITS) | 0x80;
    rest >>= 7n;
  }
  tap.buf[tap.pos++] = Number(rest);
}

/** In a union, avsc finds the branch of a value by its kind, and does not know `bigint`. */
export function takeWideLongs(union: object): void {
  if (!(union instanceof types.UnwrappedUnionType)) return;
  const indices = (union as unknown as { readonly _bucketIndices: Record<string, number> })._bucketIndices;
  const index = union.types.findIndex((branch) => branch instanceof WholeLongType);
  if (index >= 0) indices.bigint = index;
}
