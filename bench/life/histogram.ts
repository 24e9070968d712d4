import { quantile, short, whole } from '../measure/figures';

/** Upper ends, ms. */
const BOUNDS = [2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100, 200, 500];
const WIDEST = 50;

/** How many of some times (ms) fell between which, as bars, and the quantiles that one asks for. */
export function histogram(times: readonly number[]): string {
  const counts = [...BOUNDS, Infinity].map(
    (upper, i) => times.filter((time) => time <= upper && time > (BOUNDS[i - 1] ?? 0)).length,
  );
  const most = Math.max(...counts);
  const first = counts.findIndex((count) => count > 0);
  const last = counts.findLastIndex((count) => count > 0);
  const lines = counts.slice(first, last + 1).map((count, i) => {
    const [from, to] = [BOUNDS[first + i - 1] ?? 0, BOUNDS[first + i]];
    const range = to === undefined ? `over ${from} ms` : `${from} to ${to} ms`;
    return `${range.padStart(14)}  ${whole(count).padStart(6)}  ${'#'.repeat(Math.ceil((count / most) * WIDEST))}`;
  });
  const at = (part: number) => `${short(quantile(times, part))} ms`;
  const quantiles = `p50 ${at(0.5)}, p90 ${at(0.9)}, p99 ${at(0.99)}, max ${at(1)}, of ${whole(times.length)}`;
  return [...lines, quantiles].join('\n');
}
