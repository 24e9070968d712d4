import { counted } from '../../../format/counted';
import { number } from './text';

export interface Series {
  /** Minutes before now, as negative numbers, 0 last. */
  readonly minutes: readonly number[];
  readonly counts: readonly number[];
  /** Where the axis ends. A few minutes may be far above it, for example during a first snapshot. They would flatten all others. */
  readonly top: number;
  readonly total: number;
  /** For people who cannot see the chart. */
  readonly summary: string;
}

export function series(counts: readonly number[]): Series {
  const minutes = counts.map((_, at) => at - counts.length + 1);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const most = counts.reduce((a, b) => Math.max(a, b), 0);
  const last = counts.at(-1) ?? 0;
  const when = minutes[counts.lastIndexOf(most)] ?? 0;
  const summary =
    total === 0
      ? `No changes in the last ${counts.length} minutes.`
      : `${counted(total, 'change')} in the last ${counts.length} minutes, at most ${number(most)} a minute (${
          when === 0 ? 'this minute' : `${counted(-when, 'minute')} ago`
        }), ${number(last)} in this minute.`;
  return { minutes, counts, top: topOf(counts), total, summary };
}

const FEW_MINUTES = 3;
const FAR = 8;

function topOf(counts: readonly number[]): number {
  const sorted = counts.filter((count) => count > 0).sort((a, b) => b - a);
  const beyond = sorted
    .slice(0, FEW_MINUTES)
    .findLastIndex((count, at) => count > FAR * (sorted[at + 1] ?? count));
  return roundedUp(sorted[beyond + 1] ?? 0);
}

/** The least round number that is not below: 1, 2, 5, 10, 20, 50, … */
function roundedUp(value: number): number {
  if (value <= 1) return 1;
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * size).find((step) => step >= value)!;
}
