import { base64Cores, redactKnown } from './redaction';

/** A shorter token may occur in the data by chance, and data must not change. */
const leastLength = 16;

/** How a line end begins within a text of JSON; most pages have none. */
const lineEnds = ['\\n', '\\r'];

/** Removes tokens from pages. An API that repeats it in its records, for example in links, would publish it to all readers. */
export interface EchoedToken {
  /** Nearly all pages lack them: they are only searched for a few texts. */
  remove(text: string): string;
  /** Whether `remove` may have something to do. */
  isIn(body: Buffer): boolean;
}

/** @param tokens the present one, and earlier ones: an API may repeat a token for a while after it was replaced */
export function echoedToken(tokens: readonly string[]): EchoedToken {
  const known = [...new Set(tokens)].filter(({ length }) => length >= leastLength);
  const redact = redactKnown(known);
  const marks = known.flatMap(marksOf);
  const isIn = (page: string | Buffer) =>
    marks.some(({ whole }) => whole.some((mark) => page.includes(mark))) ||
    (marks.length > 0 &&
      lineEnds.some((end) => page.includes(end)) &&
      marks.some(({ ofLines }) => ofLines.some((mark) => page.includes(mark))));
  return { remove: (text) => (isIn(text) ? redact(text) : text), isIn };
}

/** A page that repeats the token has one of these: `whole`, or `ofLines` if line ends break the token. */
function marksOf(token: string): { readonly whole: string[]; readonly ofLines: string[] } {
  // Encodings of addresses, JSON and HTML leave letters and digits as they are.
  const runs = (token.match(/[A-Za-z0-9]+/g) ?? ['']).sort((a, b) => b.length - a.length);
  const cores = [token, encodeURIComponent(token.toWellFormed())].flatMap(base64Cores);
  const encoded = [...cores, ...cores.map((core) => core.replaceAll('+', '-').replaceAll('/', '_'))];
  const whole = withoutLonger([runs[0]!, ...encoded]);
  // If a line end breaks one of two parts, the other is whole.
  const parts = runs[0]!.length < leastLength ? runs.slice(0, 2) : halves(runs[0]!);
  return { whole, ofLines: withoutLonger([...parts, ...encoded.flatMap(halves)]) };
}

/** A page that holds a longer mark also holds the shorter one within it, so only the shorter is searched for. */
function withoutLonger(marks: readonly string[]): string[] {
  return [...new Set(marks)].filter((mark) => !marks.some((other) => other !== mark && mark.includes(other)));
}

function halves(text: string): string[] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
}
