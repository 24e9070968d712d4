import { base64Cores, type Redact, redactKnown } from '../redaction';

/** A shorter token may be part of the data by chance, which must stay as it is. */
const leastLength = 16;

/**
 * Takes the token out of pages: an API that repeats it in its records, in links for instance, would have it published to every
 * reader of the topics. Pages without it, nearly all, are only searched for a few texts.
 */
export function echoedToken(token: string): Redact {
  if (token.length < leastLength) return (text) => text;
  const redact = redactKnown([token]);
  // No encoding of addresses, JSON or HTML changes these.
  const runs = token.match(/[A-Za-z0-9]+/g) ?? [''];
  const longest = runs.reduce((a, b) => (b.length > a.length ? b : a));
  const cores = [token, encodeURIComponent(token.toWellFormed())].flatMap(base64Cores);
  const marks = [longest, ...cores, ...cores.map((core) => core.replaceAll('+', '-').replaceAll('/', '_'))];
  return (text) => (marks.some((mark) => text.includes(mark)) ? redact(text) : text);
}
