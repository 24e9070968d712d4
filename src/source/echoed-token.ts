import { base64Cores, redactKnown } from '../redaction';

/** A shorter token may be part of the data by chance, which must stay as it is. */
const leastLength = 16;

/** The token in pages: an API that repeats it in its records, in links for instance, would have it published to every reader of the topics. */
export interface EchoedToken {
  /** Pages without it, nearly all, are only searched for a few texts. */
  remove(text: string): string;
  /** Whether `remove` may have something to do. */
  isIn(body: Buffer): boolean;
}

export function echoedToken(token: string): EchoedToken {
  if (token.length < leastLength) return { remove: (text) => text, isIn: () => false };
  const redact = redactKnown([token]);
  // No encoding of addresses, JSON or HTML changes these.
  const runs = token.match(/[A-Za-z0-9]+/g) ?? [''];
  const longest = runs.reduce((a, b) => (b.length > a.length ? b : a));
  const cores = [token, encodeURIComponent(token.toWellFormed())].flatMap(base64Cores);
  const inAddresses = cores.map((core) => core.replaceAll('+', '-').replaceAll('/', '_'));
  const all = [...new Set([longest, ...cores, ...inAddresses])];
  // Where one is found that holds another, that one is found.
  const marks = all.filter((mark) => !all.some((other) => other !== mark && mark.includes(other)));
  return {
    remove: (text) => (marks.some((mark) => text.includes(mark)) ? redact(text) : text),
    isIn: (body) => marks.some((mark) => body.includes(mark)),
  };
}
