import { counted } from '../../../format/counted';
import type { ChangeView, FeedView, FieldView, TransitionView } from '../../dashboard/view';

const numbers = new Intl.NumberFormat('en');
const rounded = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const clock = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const dateAndClock = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

export const number = (value: number): string => numbers.format(value);

/** `1,204`, or `1.2M` if there is no room for more. */
export const shortNumber = (value: number): string =>
  Math.abs(value) >= 1_000_000 ? rounded.format(value) : numbers.format(value);

/** `12:31:05`, in the reader's zone. */
export const timeOfDay = (ms: number): string => (isTime(ms) ? clock.format(ms) : '–');

/** `22 Nov 2026, 12:31:05`, in the reader's zone. */
export const dateAndTime = (ms: number): string => (isTime(ms) ? dateAndClock.format(ms) : '–');

/** `Intl` rejects dates beyond it, and a vendor may send any number. */
const isTime = (ms: number) => Math.abs(ms) <= 8.64e15;

/** `RatingChanged` as words: `Rating changed`. */
export function typeText(type: string): string {
  const words = type.replace(/(?<=[a-z0-9])(?=[A-Z])/g, ' ').toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A sentence as a part of another: without its stop and its capital. */
export function asClause(sentence: string): string {
  const text = sentence.trim().replace(/\.$/, '');
  return /^[A-Z][a-z ]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text;
}

/** `Hold, 7.00` and `Hold, 10.00` as `Hold, 7.00` and `10.00`; `Buy, 40.00` and `Hold, 40.00` as `Buy` and `Hold, 40.00`. */
export function parted({ before, after }: TransitionView): Pick<TransitionView, 'before' | 'after'> {
  const old = partsOf(before);
  const now = partsOf(after);
  const isOther = old?.length === now?.length && before !== after;
  const first = isOther ? now?.findIndex((part, at) => part !== old?.[at]) : 0;
  const last = isOther ? old?.findLastIndex((part, at) => part !== now?.[at]) : old?.length;
  return {
    before: old?.slice(0, (last ?? 0) + 1).join(', ') ?? null,
    after: now?.slice(first).join(', ') ?? null,
  };
}

/** A value that is empty leaves nothing between two commas. */
function partsOf(text: string | null): readonly string[] | undefined {
  return text?.split(', ').map((part) => (part.trim() === '' ? '–' : part));
}

/** The fields that no badge shows already. A badge joins several values by commas. */
export function untold({ fields, transitions }: ChangeView): readonly FieldView[] {
  const isTold = ({ before, after }: FieldView) =>
    transitions.some((told) => isIn(before, told.before) && after !== null && isIn(after, told.after));
  return fields.filter((field) => !isTold(field));
}

const isIn = (value: string | null, told: string | null) =>
  value === null || (told !== null && (told === value || told.split(', ').includes(value)));

export const opWords: Readonly<Record<ChangeView['op'], { readonly mark: string; readonly word: string }>> = {
  c: { mark: '+', word: 'created' },
  u: { mark: '~', word: 'updated' },
  d: { mark: '−', word: 'deleted' },
  r: { mark: '·', word: 'read' },
};

/** Number of common letters that are kept before the first difference. */
const CONTEXT = 8;

/**
 * Shortens two long texts to begin shortly before their first difference. Otherwise a line would show their common beginning twice.
 * @param most letters; texts up to it stay as they are
 */
export function difference(before: string, after: string, most = 26): { before: string; after: string } {
  if (before.length <= most && after.length <= most) return { before, after };
  const old = [...before];
  const now = [...after];
  let same = 0;
  while (same < old.length && same < now.length && old[same] === now[same]) same += 1;
  // At the beginning of a word, if there is one.
  const space = old.slice(0, same).lastIndexOf(' ', same - CONTEXT);
  const from = same <= CONTEXT ? 0 : space < 0 ? same - CONTEXT : space + 1;
  const cut = (letters: readonly string[]) => {
    const text = letters
      .slice(from, from + most)
      .join('')
      .trimEnd();
    return `${from > 0 ? '…' : ''}${text}${letters.length > from + most ? '…' : ''}`;
  };
  return { before: cut(old), after: cut(now) };
}

/** The feed that is polled next, and in how many ms; null: none is expected. @param nowMs the publisher's clock */
export function nextPoll(
  feeds: readonly FeedView[],
  nowMs: number,
): { readonly feed: string; readonly inMs: number } | null {
  const due = feeds
    .filter(({ condition }) => condition === 'up-to-date')
    .flatMap(({ feed, last_complete_scan_ms: scannedMs, poll_interval_ms: everyMs }) =>
      scannedMs === null ? [] : [{ feed, inMs: Math.max(0, scannedMs + everyMs - nowMs) }],
    );
  return due.sort((a, b) => a.inMs - b.inMs)[0] ?? null;
}

export function series(counts: readonly number[]) {
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
  return {
    /** Minutes before now, as negative numbers, 0 last. */
    minutes,
    most,
    top: topOf(counts),
    total,
    /** For people who cannot see the chart. */
    summary,
  };
}

const FEW_MINUTES = 3;
const FAR = 8;

/** Where the axis ends. A few minutes may be far above it, for example during a first snapshot. They would flatten all others. */
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
