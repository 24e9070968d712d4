import { execFile, spawnSync } from 'node:child_process';
import { excerpt } from './excerpt';
import { redactKnown } from './redaction';

/** A value, or why there is none, for people and without secrets. */
export type Read<T> = { readonly value: T } | { readonly problem: string };

/** A program with its arguments; as one text, a line for `/bin/sh -c`. */
export type Command = string | readonly string[];

const LIMIT_MS = 10_000;
const options = {
  timeout: LIMIT_MS,
  killSignal: 'SIGKILL',
  maxBuffer: 1_048_576,
  encoding: 'utf8',
} as const;

interface Ended {
  /** Exit code, or a code such as `ENOENT` of a program that could not be run. Null: a signal ended it. */
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * The output of a command, without blanks around it.
 * @param known secrets that the words of the command may contain
 */
export function runCommand(command: Command, known: readonly string[]): Promise<Read<string>> {
  return new Promise((resolve) => {
    const child = execFile(...programOf(command), options, (error, stdout, stderr) =>
      resolve(outcome({ code: error === null ? 0 : error.code, stdout, stderr }, known)),
    );
    child.stdin?.end();
  });
}

/** Like `runCommand`, while nothing else runs yet. */
export function runCommandAtStart(command: Command, known: readonly string[]): Read<string> {
  const stdio = ['ignore', 'pipe', 'pipe'] as const;
  const { status, error, stdout, stderr } = spawnSync(...programOf(command), {
    ...options,
    stdio: [...stdio],
  });
  const code = status ?? (error as NodeJS.ErrnoException | undefined)?.code;
  return outcome({ code: code === 'ETIMEDOUT' ? null : code, stdout, stderr }, known);
}

function programOf(command: Command): [program: string, args: readonly string[]] {
  if (typeof command === 'string') return ['/bin/sh', ['-c', command]];
  const [program = '', ...args] = command;
  return [program, args];
}

/** The command itself is not shown: it may hold a secret. */
function outcome({ code, stdout, stderr }: Ended, known: readonly string[]): Read<string> {
  const printed = (stdout ?? '').trim();
  if (code === 0) return { value: printed };
  if (typeof code === 'string') return { problem: `the command could not be run (${code})` };
  // A short text may stand in the words by chance.
  const secrets = printed.length < leastHidden ? known : [...known, printed];
  const redact = redactKnown(secrets);
  const said = excerpt(stderr ?? '', (text) => withoutSecrets(redact(text)));
  const how =
    typeof code === 'number' ? `ended with exit code ${code}` : `was ended after ${LIMIT_MS / 1_000} s`;
  return { problem: `the command ${how}${said === '' ? '' : ` and said: ${said}`}` };
}

const leastHidden = 4;

/** A command that traces itself says the secret before it has printed it: then nobody knows it. Hides words that look like one. */
function withoutSecrets(text: string): string {
  const named = text.replaceAll(/(\bbearer\s+|(?:token|password|secret|key)\s*[=:]\s*)\S+/gi, '$1[hidden]');
  // Neither names of hosts nor paths from the root.
  return named.replaceAll(/(?<![\w.~+=/-])(?!\/)[\w.~+=/-]{16,}/g, (word) =>
    /\d/.test(word) && /[a-z]/i.test(word) && !/^[\w-]+(\.[\w-]+)*\.[a-z]{2,}$/i.test(word)
      ? '[hidden]'
      : word,
  );
}
