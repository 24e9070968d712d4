import { types } from 'node:util';
import pc from 'picocolors';
import { HighwaterError } from './errors';
import { createRedactor } from './redaction';

export interface RenderOptions {
  readonly color: boolean;
  /** Replaced wherever they turn up. */
  readonly secrets?: readonly string[];
}

/**
 * What a command says on stderr when it ends by an error: what happened, what the program does now, what to do. Anything
 * but a HighwaterError is a fault of the program and says so, with its stack.
 */
export function renderError(error: unknown, { color, secrets = [] }: RenderOptions): string {
  const paint = pc.createColors(color);
  const redact = createRedactor(secrets);
  if (error instanceof HighwaterError) {
    const { code, message, now, remedy } = error;
    return `${paint.red('error')} ${paint.bold(code)}  ${harmless(redact(message))}
  ${paint.dim('now:')}  ${harmless(redact(now))}
  ${paint.dim('do: ')}  ${harmless(redact(remedy))}
`;
  }
  return `${paint.red('error')} ${paint.bold('a fault in highwater itself')}  ${harmless(redact(summary(error)))}
  ${paint.dim('now:')}  The command ends. What was committed stays whole.
  ${paint.dim('do: ')}  Start it again. When it happens again, report it with the lines below.
${stacks(error)
  .map((stack) => paint.dim(harmless(redact(stack)).replace(/^/gm, '    ')))
  .join('\n')}
`;
}

function summary(error: unknown): string {
  return types.isNativeError(error) ? `${error.name}: ${error.message}` : `thrown: ${String(error)}`;
}

/** The stacks of an error and its causes. */
function stacks(error: unknown): string[] {
  const found: string[] = [];
  for (let one = error; types.isNativeError(one) && found.length < 5; one = one.cause) {
    found.push(`${found.length === 0 ? '' : 'caused by '}${one.stack ?? one.message}`);
  }
  return found;
}

/** Line breaks may stay, escape sequences may not. */
function harmless(text: string): string {
  return text.replace(/[^\P{Cc}\n]|\p{Bidi_Control}/gu, ' ');
}
