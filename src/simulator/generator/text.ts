import type { Random } from '../random';

const sentences = [
  'Management kept its outlook and sees demand firm through the second half.',
  'Margins widened on a richer mix, although freight stayed a burden.',
  'The order book covers about three quarters of the coming year.',
  'New capacity comes on stream a quarter later than planned.',
  'Pricing held up better than peers, which the valuation does not show yet.',
  'Regulatory questions remain open and could weigh on sentiment.',
  'Free cash flow should turn positive once the current investments are done.',
  'Competition in the core segment has become sharper since spring.',
  'A second supplier lowers the risk of the bottleneck seen last year.',
  'Currency moves take about two points off reported growth.',
];

/** Sentences of roughly the wanted length, never longer than one sentence above it. */
export function prose(random: Random, bytes: number): string {
  let text = '';
  while (text.length < bytes) text += `${text === '' ? '' : ' '}${random.pick(sentences)}`;
  return text;
}

export function decimal(random: Random, min: number, max: number, scale: number): string {
  return (min + random.next() * (max - min)).toFixed(scale);
}

const dates = new Map<number, string>();

/** `2026-03-14`. Remembered per day: formatting dates is the dearest part of a record. */
export function isoDate(seconds: number): string {
  const day = Math.floor(seconds / 86_400);
  let date = dates.get(day);
  if (date === undefined) {
    date = new Date(day * 86_400_000).toISOString().slice(0, 10);
    dates.set(day, date);
  }
  return date;
}
