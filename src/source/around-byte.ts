import { excerpt } from '../secrets/excerpt';
import type { Redact } from '../secrets/redaction';

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
