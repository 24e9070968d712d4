import { excerpt } from '../secrets/excerpt';
import type { Redact } from '../secrets/redaction';
import { Body } from './body';

export type Utf8Body = { readonly body: Body } | { readonly body: null; readonly why: string };

/**
 * The body of an answer in UTF-8. A byte order mark says what the body is, else the charset of its `Content-Type`, else it is UTF-8. A
 * body that is UTF-8 by these is returned as it is: whether it is valid is left to its reader.
 * @param isStrict whether bytes that are not of the charset, and an unknown charset, are refused; else letters may be replaced
 */
export function inUtf8(body: Body, contentType: string | undefined, isStrict: boolean): Utf8Body {
  const charset = markedCharset(body.head(3)) ?? declaredCharset(contentType);
  if (charset === null || UTF8.test(charset)) return { body };
  const decoder = decoderOf(charset, isStrict);
  if (decoder === null)
    return isStrict ? { body: null, why: `text in the charset "${charset}", which is not known` } : { body };
  if (decoder.encoding === 'utf-8') return { body };
  try {
    const text = decoder.decode(body.kept());
    const whole = decoder.encoding === 'windows-1252' ? text.replace(C1, inWindows1252) : text;
    return { body: new Body([Buffer.from(whole)]) };
  } catch {
    return { body: null, why: `bytes that are not ${charset}` };
  }
}

/** Null for a charset that Node.js does not know. */
function decoderOf(charset: string, fatal: boolean) {
  try {
    return new TextDecoder(charset, { fatal });
  } catch {
    return null;
  }
}

const UTF8 = /^utf-?8$/i;

/** The letters of windows-1252 for the bytes 0x80 to 0x9F. A byte without a letter is the control of its number. */
const LETTERS = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';
const C1 = /[\x80-\x9f]/g;

/**
 * Some versions of Node.js decode windows-1252 as Latin-1, with controls for these letters. ISO-8859-1 is the same charset by the
 * Encoding Standard: pages and APIs that declare it send these letters, and text has no such controls.
 */
function inWindows1252(control: string): string {
  return LETTERS[control.charCodeAt(0) - 0x80]!;
}

function markedCharset(head: Buffer): string | null {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be';
  return head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf ? 'utf-8' : null;
}

function declaredCharset(contentType: string | undefined): string | null {
  return /;\s*charset\s*=\s*["']?([\w.:+-]{1,40})/i.exec(contentType ?? '')?.[1] ?? null;
}

/** For people: where bytes begin not to be UTF-8. */
export function brokenUtf8(bytes: Buffer, redact: Redact): string {
  const text = Buffer.from(bytes.toString('utf8'));
  let at = 0;
  while (at < bytes.length && text[at] === bytes[at]) at++;
  return aroundByte(bytes, at, redact);
}

/** So many bytes on each side are searched for secrets: half a secret would not be recognised. */
const SEARCHED_BYTES = 4096;
/** Characters shown on each side. */
const SHOWN = 60;

/** For people: the place of a fault in an answer, and the text around it. No secret is shown. */
export function aroundByte(bytes: Buffer, at: number, redact: Redact): string {
  const before = bytes.toString('utf8', characterFrom(bytes, Math.max(0, at - SEARCHED_BYTES)), at);
  const after = bytes.toString('utf8', at, characterFrom(bytes, Math.min(bytes.length, at + SEARCHED_BYTES)));
  const place = `at byte ${at}`;
  const [left, right] = [redact(before), redact(after)];
  // A secret may lie on both sides.
  if (left + right !== redact(before + after)) return place;
  const [shownBefore, shownAfter] = [excerpt(left.slice(-SHOWN), asItIs), excerpt(right, asItIs, SHOWN)];
  const cut = left.length > SHOWN || at > SEARCHED_BYTES ? '…' : '';
  const comes = shownAfter === '' ? 'nothing comes' : `comes ${shownAfter}`;
  return shownBefore === '' ? `${place} ${comes}` : `${place}, after ${cut}${shownBefore} ${comes}`;
}

const asItIs: Redact = (text) => text;

/** The first byte of a character of UTF-8, from a byte on. */
function characterFrom(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && (bytes[at]! & 0xc0) === 0x80) at++;
  return at;
}
