import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface CommandOptions {
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Then it is killed. */
  readonly withinMs: number;
}

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a program to its end.
 * @throws Error with code ENOENT if the program does not exist; Error if it does not end in time
 */
export async function run(
  program: string,
  args: readonly string[],
  { env, cwd, withinMs }: CommandOptions,
): Promise<CommandResult> {
  const child = spawn(program, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    child.kill('SIGKILL');
  }, withinMs);
  const [code] = (await once(child, 'close').finally(() => clearTimeout(timer))) as [number | null];
  if (late)
    throw new Error(`${program} ${args.join(' ')} did not end within ${withinMs} ms:\n${stdout}${stderr}`);
  return { code, stdout, stderr };
}
