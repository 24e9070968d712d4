import { Body } from '../../src/source/body';

/** As it comes from a socket: in pieces of so many bytes. */
export function bodyOf(content: string | Buffer, pieceBytes = 1_000): Body {
  const whole = Buffer.from(content);
  const pieces: Buffer[] = [];
  for (let at = 0; at < whole.length; at += pieceBytes) pieces.push(whole.subarray(at, at + pieceBytes));
  return new Body(pieces);
}
