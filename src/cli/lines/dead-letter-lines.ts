import type { DeadLetterValue } from '../../avro/codec/feed-codec';
import { durationText } from '../../format/durations';
import { harmless } from '../terminal/cells';
import { painted, span } from '../terminal/spans';

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
      span(`${size}, ${durationText(nowMs - ts_ms)} old`, 'dim'),
    ],
    [span(`  ${harmless(reason)}`, 'yellow')],
    [span(`  ${harmless(text)}`)],
  ];
  return lines.map((spans) => `${painted(spans, width, color).trimEnd()}\n`).join('');
}
