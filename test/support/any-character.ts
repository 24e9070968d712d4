import fc from 'fast-check';

/**
 * Any character of Unicode, for `unit` of `fc.string`. The unit 'binary' of fast-check is the same, but takes each suite a
 * second: it makes a table of a million characters first.
 */
export const anyCharacter = fc
  .nat(0x10ffff - 0x800)
  .map((n) => String.fromCodePoint(n < 0xd800 ? n : n + 0x800));
