/** The middle one; of an even number the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** @param part 0 to 1: 0.99 is the value that 99 % do not exceed, between two values in proportion */
export function quantile(values: readonly number[], part: number): number {
  if (values.length === 0) throw new RangeError('no values');
  const sorted = values.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * part;
  const [low, high] = [sorted[Math.floor(at)]!, sorted[Math.ceil(at)]!];
  return low + (high - low) * (at - Math.floor(at));
}

/** `41,200` */
export function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** `12.3`, `0.45`: three digits or as many as are before the point. */
export function short(value: number): string {
  if (value >= 100) return whole(value);
  return value.toFixed(value >= 10 ? 1 : 2);
}

/** `5.6x` */
export function ratio(value: number, of: number): string {
  return `${short(value / of)}x`;
}

/** `318`: of bytes. */
export function mebibytes(bytes: number): string {
  return whole(bytes / 2 ** 20);
}
