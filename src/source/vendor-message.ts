import { ExactNumber } from '../json/exact-number';
import { excerpt } from '../secrets/excerpt';
import type { Redact } from '../secrets/redaction';

/** The message of an error report, in any of the vendor's shapes; null if there is none. */
export function vendorMessage(value: unknown, redact: Redact): string | null {
  const message = messageOf(value);
  return message === null || message.trim() === '' ? null : excerpt(message, redact);
}

/** Nesting of a message. An answer must not decide the depth of the stack. */
const MOST_LEVELS = 20;

function messageOf(value: unknown, levels = MOST_LEVELS): string | null {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null || levels === 0) return null;
  const within = (one: unknown) => messageOf(one, levels - 1);
  if (Array.isArray(value)) return joined(value.map(within));
  const members = value as Readonly<Record<string, unknown>>;
  return (
    within(members.errors) ??
    joined([members.message, members.text, members.error, members.detail].map(within)) ??
    // Beside rows, members of these names may be anything.
    (levels === MOST_LEVELS ? null : joined([members.info, members.msg, members.description].map(within))) ??
    (plain(members.code) === null ? null : joined([members.code, members.id, members.value].map(plain)))
  );
}

function plain(value: unknown): string | null {
  const isPlain = typeof value === 'string' || typeof value === 'number' || value instanceof ExactNumber;
  return isPlain ? String(value) : null;
}

function joined(parts: readonly (string | null)[]): string | null {
  const present = parts.filter((part) => part !== null && part.trim() !== '');
  return present.length === 0 ? null : [...new Set(present)].join(', ');
}
