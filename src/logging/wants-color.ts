/**
 * A terminal that knows colours, or anything where FORCE_COLOR asks for them; nowhere with NO_COLOR (https://no-color.org,
 * https://force-color.org).
 */
export function wantsColor(
  stream: { readonly isTTY?: boolean },
  { NO_COLOR, FORCE_COLOR, TERM }: NodeJS.ProcessEnv = process.env,
): boolean {
  if ((NO_COLOR ?? '') !== '') return false;
  if ((FORCE_COLOR ?? '') !== '') return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false';
  return stream.isTTY === true && TERM !== 'dumb';
}
