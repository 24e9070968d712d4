import { Command } from 'commander';
import { didYouMean } from '../config/did-you-mean';
import { type ErrorCode, errorKinds, summaryOf } from '../errors';
import type { CommandContext, RunCommand } from './process/command-context';
import { usageError } from './process/command-line';
import { wrapped } from './terminal/text';

const codes = Object.keys(errorKinds) as ErrorCode[];

export function explainCommand(run: RunCommand): Command {
  return new Command('explain')
    .argument('[code]', 'such as LOG_OWNED; without one, all codes are listed')
    .addHelpText('after', '\nExamples:\n  $ npx highwater explain SOURCE_UNAUTHORIZED')
    .action((code: string | undefined) => run((context) => explain(code, context)));
}

async function explain(written: string | undefined, context: CommandContext): Promise<number> {
  if (written === undefined) {
    const width = Math.max(...codes.map((code) => code.length));
    for (const code of codes) await context.print(`${code.padEnd(width)}  ${summaryOf(code)}\n`);
    return 0;
  }
  const code = codes.find((one) => one === written.toUpperCase());
  if (code === undefined) {
    const meant = didYouMean(written, codes);
    throw usageError(
      `no error has the code ${written}${meant === null ? '' : `; did you mean ${meant}?`}`,
      'Nothing was explained.',
      'See `highwater explain` for all codes.',
    );
  }
  const width = context.width();
  await context.print(explanation(code, width === Infinity ? width : Math.min(width, 100)));
  return 0;
}

function explanation(code: ErrorCode, width: number): string {
  const { what, now, remedy, parks, retriable, exit, see } = errorKinds[code];
  const again = parks
    ? 'slowly, because the feed is parked; at once after a restart, and after `highwater resume FEED` if the publisher has the feed'
    : retriable
      ? 'yes'
      : 'no';
  const items = [
    `What the program does: ${now}`,
    `What to do: ${remedy}`,
    `Tried again by itself: ${again}.`,
    `Exit code of a command that ends with it: ${exit}.`,
    ...(see === undefined ? [] : [`More: docs/${see}`]),
  ];
  return [
    `${code}\n`,
    `${wrapped(what, width).join('\n')}\n`,
    ...items.map((item) => `- ${wrapped(item, width - 2).join('\n  ')}`),
    '',
  ].join('\n');
}
