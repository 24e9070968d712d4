import { get } from 'node:http';
import { Command } from 'commander';
import { configOptions } from '../config/command-options';
import { httpAddress } from '../config/http-address';
import { networkReason } from '../net/network-reason';
import type { CommandContext, RunCommand } from './process/command-context';

/** Shorter than what probes wait for by default elsewhere; `/readyz` asks the other instances for two seconds at most. */
const WITHIN_MS = 5_000;
/** A publisher's answer is much smaller. What else listens there may say what it likes. */
const MOST_CHARACTERS = 100_000;

export function healthcheckCommand(run: RunCommand): Command {
  const command = new Command('healthcheck').option(
    '--live',
    'Whether starting it again would help (/livez), not whether all is up to date (/readyz)',
  );
  for (const option of configOptions(['httpPort', 'httpHost'])) command.addOption(option);
  return command
    .addHelpText(
      'after',
      `
For containers and supervisors, which have no curl. It needs the port of the publisher, and no token.

Examples:
  $ npx highwater healthcheck --http-port 9464          is every feed up to date, here or elsewhere?
  $ npx highwater healthcheck --http-port 9464 --live   does the process hang?`,
    )
    .action((flags: Record<string, unknown>) => run((context) => askPublisher(flags, context)));
}

async function askPublisher(flags: Record<string, unknown>, context: CommandContext): Promise<number> {
  const address = httpAddress({ flags, env: context.env, cwd: context.cwd });
  const [path, well, ill] =
    flags.live === true
      ? (['/livez', 'live', 'not live'] as const)
      : (['/readyz', 'ready', 'not ready'] as const);
  const url = `http://${address}${path}`;
  let answer: Answer;
  try {
    answer = await ask(url, context.signal);
  } catch (error) {
    await context.print(`no answer from ${url}: ${networkReason(error)}\n`);
    return 1;
  }
  if (answer.status === 200) {
    await context.print(`${well}\n`);
    return 0;
  }
  const reasons = reasonsIn(answer.text);
  await context.print(
    reasons === null
      ? `${url} answers ${answer.status}: is it a publisher?\n`
      : reasons.map((reason) => `${ill}: ${reason}\n`).join(''),
  );
  return 1;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

function ask(url: string, signal: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const late = AbortSignal.timeout(WITHIN_MS);
    late.addEventListener('abort', () => reject(new Error(`none within ${WITHIN_MS / 1_000} s`)));
    const request = get(url, { signal: AbortSignal.any([signal, late]), agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text = (text + part).slice(0, MOST_CHARACTERS);
      });
      response.on('error', reject).on('end', () => resolve({ status: response.statusCode!, text }));
    });
    request.on('error', reject);
  });
}

/** Null when it is not what a publisher says. */
function reasonsIn(text: string): readonly string[] | null {
  try {
    const { ok, reasons } = JSON.parse(text) as { readonly ok: unknown; readonly reasons: unknown };
    if (ok !== false || !Array.isArray(reasons) || reasons.length === 0) return null;
    return reasons.map((reason) => String(reason).replace(/[\p{Cc}\p{Cf}]+/gu, ' '));
  } catch {
    return null;
  }
}
