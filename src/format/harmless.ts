/** Nothing that a server sent may begin a line, steer a terminal, or turn the reading order of what stands beside it. */
export function harmless(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu, ' ');
}
