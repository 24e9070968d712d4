import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Command } from 'commander';
import { didYouMean } from '../config/did-you-mean';
import { type ErrorCode, errorKinds, HighwaterError } from '../errors';
import { type CommandContext, runCommand } from './command-context';
import { firstSentence, plainPage } from './format/plain-page';

const codes = Object.keys(errorKinds) as ErrorCode[];
/** The pages come with the package, one folder up from both `src` and `dist`. */
const pages = path.join(__dirname, '..', '..', 'docs', 'errors');

export function explainCommand(): Command {
  return new Command('explain')
    .description('Say what the code of an error means, why it comes and what to do. Asks no server.')
    .argument('[code]', 'such as LOG_OWNED; without one, all codes are listed')
    .addHelpText('after', '\nExamples:\n  $ npx highwater explain SOURCE_UNAUTHORIZED')
    .action((code: string | undefined) => runCommand((context) => explain(code, context)));
}

async function explain(written: string | undefined, context: CommandContext): Promise<number> {
  if (written === undefined) {
    const width = Math.max(...codes.map((code) => code.length));
    for (const code of codes)
      await context.print(`${code.padEnd(width)}  ${plainPage(firstSentence(pageOf(code)), null)}`);
    return 0;
  }
  const code = codes.find((one) => one === written.toUpperCase());
  if (code === undefined) throw unknownCode(written);
  const { stdout } = process;
  await context.print(plainPage(pageOf(code), stdout.isTTY ? Math.min(stdout.columns, 100) : null));
  return 0;
}

/** An image that was built without the pages has what the table of errors says. */
function pageOf(code: ErrorCode): string {
  const file = path.join(pages, `${code}.md`);
  if (existsSync(file)) return readFileSync(file, 'utf8');
  const { now, remedy, exit } = errorKinds[code];
  return `# ${code}\n\nThis installation has no page of it.\n\n- What the program does: ${now}\n- What to do: ${remedy}\n- Exit code of a command that ends by it: ${exit}.\n`;
}

function unknownCode(written: string): HighwaterError {
  const meant = didYouMean(written, codes);
  return new HighwaterError(
    'USAGE_INVALID',
    `no error has the code ${written}${meant === null ? '' : `; did you mean ${meant}?`}`,
    { now: 'Nothing was explained.', remedy: 'See `highwater explain` for all codes.' },
  );
}
