import type { DeadLetterValue } from '../../avro/feed-codec';
import { harmless } from './cells';
import { painted, span } from './spans';

/** Of the text: enough to know the row again. */
const MOST_CHARACTERS = 300;

/** A dead letter for people: what it is, why it is one, and how its text begins. */
export function deadLetterLines(
  { feed, reason, sha256, bytes, ts_ms, raw }: DeadLetterValue,
  { nowMs, width, color }: { readonly nowMs: number; readonly width: number; readonly color: boolean },
): string {
  const kept = Buffer.byteLength(raw);
  const size = kept < bytes ? `${bytes} bytes, the first ${kept} kept` : `${bytes} bytes`;
  const begin = raw.slice(0, MOST_CHARACTERS).toWellFormed();
  const text = begin.length < raw.length || kept < bytes ? `${begin}…` : begin;
  const lines = [
    [
      span(`${harmless(feed)}  `, 'bold'),
      span(`${sha256.slice(0, 12)}  `),
      span(`${size}, ${age(nowMs - ts_ms)} old`, 'dim'),
    ],
    [span(`  ${harmless(reason)}`, 'yellow')],
    [span(`  ${harmless(text)}`)],
  ];
  return lines.map((spans) => `${painted(spans, width, color).trimEnd()}\n`).join('');
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
] as const;

/** In the largest unit of which there is one: `3 d`. */
function age(ms: number): string {
  for (const [unit, length] of units) {
    if (ms >= length) return `${Math.floor(ms / length)} ${unit}`;
  }
  return `${Math.max(0, Math.floor(ms / 1000))} s`;
}
