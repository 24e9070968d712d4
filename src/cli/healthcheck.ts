import { httpAddress } from '../config/http';
import { networkReason } from '../net/network-reason';
import { type Answer, ask } from './process/ask-publisher';
import { CliCommand, type Flags } from './process/cli-command';
import type { CommandContext, RunCommand } from './process/command-context';

export function healthcheckCommand(run: RunCommand): CliCommand {
  return new CliCommand('healthcheck')
    .option(
      '--live',
      'Ask whether a restart would help (/livez), not whether every feed is up to date (/readyz)',
    )
    .settings(['httpPort', 'httpHost'])
    .notes(`
For containers and supervisors without curl. It needs the port of the publisher, but no token.

Examples:
  $ npx highwater healthcheck --http-port 9464          is every feed up to date, here or elsewhere?
  $ npx highwater healthcheck --http-port 9464 --live   does the process hang?`)
    .action((flags: Flags) => run((context) => askPublisher(flags, context)));
}

async function askPublisher(flags: Flags, context: CommandContext): Promise<number> {
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
    context.signal.throwIfAborted();
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

/** Null when a publisher would not answer so. */
function reasonsIn(text: string): readonly string[] | null {
  try {
    const { ok, reasons } = JSON.parse(text) as { readonly ok: unknown; readonly reasons: unknown };
    if (ok !== false || !Array.isArray(reasons) || reasons.length === 0) return null;
    return reasons.map((reason) => String(reason).replace(/[\p{Cc}\p{Cf}]+/gu, ' '));
  } catch {
    return null;
  }
}
