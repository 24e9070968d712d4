import { randomUUID } from 'node:crypto';
import { ExactNumber, isPlainNumber } from './exact-number';

/**
 * Like JSON.parse, but no number is rounded: one that JavaScript's numbers do not hold becomes an `ExactNumber`. Text without such a
 * number takes the time of JSON.parse and of one look at its characters.
 * @param exact makes the value of such a number from its text
 * @throws SyntaxError
 */
export function parseJson(
  text: string,
  exact: (text: string) => unknown = (number) => new ExactNumber(number),
): unknown {
  const marked = withMarks(text);
  return marked === null ? JSON.parse(text) : withoutMarks(JSON.parse(marked), exact);
}

/** As `parseJson`; undefined if the text is not JSON. */
export function jsonOf(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

/** Begins a text that was a number. Node.js before 21 gives a reviver no source text. */
const MARK = `${randomUUID()}:`;

const QUOTE = 0x22;
const PLUS = 0x2b;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const BACKSLASH = 0x5c;
const LETTER_E = 0x65;
/** By which an upper-case letter differs from a lower-case one. */
const CASE = 0x20;

/** A number with fewer characters and without an exponent is a double: it has at most 15 digits. */
const SHORTEST_RISK = 16;

export function isJsonNumber(text: string): boolean {
  return NUMBER.test(text);
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The same JSON with a marked text in the place of each number that would be rounded; null if there is none. */
function withMarks(text: string): string | null {
  const { length } = text;
  let marked = '';
  let taken = 0;
  for (let at = 0; at < length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = closingQuote(text, at);
      continue;
    }
    if (code > NINE || (code < ZERO && code !== MINUS)) continue;
    const from = at;
    let isRisk = false;
    for (at++; at < length; at++) {
      const next = text.charCodeAt(at);
      if (
        next <= NINE
          ? next < ZERO && next !== DOT && next !== MINUS && next !== PLUS
          : (next | CASE) !== LETTER_E
      )
        break;
      isRisk ||= next > NINE;
    }
    if (isRisk || at - from >= SHORTEST_RISK) {
      const number = text.slice(from, at);
      // In the place of a name, a number is a fault, but a text would be none.
      if (NUMBER.test(number) && !isPlainNumber(number) && !/^\s*:/.test(text.slice(at, at + 32))) {
        marked += `${text.slice(taken, from)}"${MARK}${number}"`;
        taken = at;
      }
    }
    at--;
  }
  return taken === 0 ? null : marked + text.slice(taken);
}

/** Index of the quote that ends the text that begins at a quote; the length if there is none. */
export function closingQuote(text: string, from: number): number {
  let at = text.indexOf('"', from + 1);
  while (at > 0 && text.charCodeAt(at - 1) === BACKSLASH && isEscaped(text, at))
    at = text.indexOf('"', at + 1);
  return at < 0 ? text.length : at;
}

function isEscaped(text: string, at: number): boolean {
  let from = at;
  while (text.charCodeAt(from - 1) === BACKSLASH) from--;
  return (at - from) % 2 === 1;
}

/** In a loop and not by a reviver, because JSON may be nested deeper than the stack. */
function withoutMarks(parsed: unknown, exact: (text: string) => unknown): unknown {
  const root: Record<string, unknown> = { parsed };
  const left = [root];
  for (let holder = left.pop(); holder !== undefined; holder = left.pop()) {
    for (const name of Object.keys(holder)) {
      const value = holder[name];
      if (typeof value === 'string') {
        if (value.startsWith(MARK)) holder[name] = exact(value.slice(MARK.length));
      } else if (typeof value === 'object' && value !== null) left.push(value as Record<string, unknown>);
    }
  }
  return root.parsed;
}
