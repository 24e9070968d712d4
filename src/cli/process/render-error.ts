import { types } from 'node:util';
import pc from 'picocolors';
import { HighwaterError } from '../../errors';
import { createRedactor } from '../../secrets/redaction';
import { cellsOf, wrapped } from '../terminal/text';

export interface RenderOptions {
  readonly color: boolean;
  /** Replaced wherever they turn up. */
  readonly secrets?: readonly string[];
  /** Cells of a terminal, to fold at; default: a line each. */
  readonly width?: number;
}

/**
 * The text on stderr of a command that ends with an error, in three parts: what happened, what the program does now, what to do.
 * Anything but a HighwaterError is a fault of the program and says so, with its stack.
 */
export function renderError(
  error: unknown,
  { color, secrets = [], width = Infinity }: RenderOptions,
): string {
  const paint = pc.createColors(color);
  const redact = createRedactor(secrets);
  if (error instanceof HighwaterError) {
    const { code, message, now, remedy } = error;
    const head = `${paint.red('error')} ${paint.bold(code)}  `;
    return `${folded(head + harmless(redact(message)), width, 2)}
  ${paint.dim('now:')}  ${folded(harmless(redact(now)), width, 8, 8)}
  ${paint.dim('do: ')}  ${folded(harmless(redact(remedy)), width, 8, 8)}
`;
  }
  const what = isError(error) ? `${error.name}: ${error.message}` : `thrown: ${String(error)}`;
  return `${paint.red('error')} ${paint.bold('a fault in highwater itself')}  ${harmless(redact(what))}
  ${paint.dim('now:')}  The command ends. What was committed stays whole.
  ${paint.dim('do: ')}  Start it again. When it happens again, report it with the lines below.
${stacks(error)
  .map((stack) => paint.dim(harmless(redact(stack)).replace(/^/gm, '    ')))
  .join('\n')}
`;
}

/**
 * Text whose first line begins at `at`, in lines of at most `width` cells; what follows a fold stands at `indent` beyond the
 * beginning of its own line. Where nothing has to be folded nothing is touched.
 */
function folded(text: string, width: number, indent: number, at = 0): string {
  return text
    .split('\n')
    .flatMap((line, n) => {
      const begins = n === 0 ? at : line.length - line.trimStart().length;
      if (begins + cellsOf(line.trimStart()) <= width) return [line];
      const under = ' '.repeat(n === 0 ? indent : begins + 2);
      const lines = wrapped(line.trimStart(), width - Math.max(begins, under.length));
      return lines.map((part, i) => (i > 0 ? under : n === 0 ? '' : ' '.repeat(begins)) + part);
    })
    .join('\n');
}

/** Errors of the database library are not native errors, and errors of another realm are not instances. */
function isError(error: unknown): error is Error {
  return error instanceof Error || types.isNativeError(error);
}

/** The stacks of an error and its causes. */
function stacks(error: unknown): string[] {
  const found: string[] = [];
  for (let one = error; isError(one) && found.length < 5; one = one.cause) {
    found.push(`${found.length === 0 ? '' : 'caused by '}${one.stack ?? one.message}`);
  }
  return found;
}

/** Line breaks may stay, escape sequences may not. */
function harmless(text: string): string {
  return text.replace(/[^\P{Cc}\n]|\p{Bidi_Control}/gu, ' ');
}
