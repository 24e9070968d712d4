import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { startProcess } from '../../tools/servers/server-process';

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** 5 minutes by default. */
  readonly withinMs?: number;
  readonly started?: (pid: number) => void;
}

/**
 * Runs a program to its end.
 * @returns the lines of JSON that it printed; others are passed over
 * @throws Error with all that it printed when there is no such line, or it does not end in time
 */
export async function runJson<Value>(program: Program): Promise<Value[]> {
  const { command, args, env, withinMs = 300_000, started } = program;
  const folder = mkdtempSync(path.join(tmpdir(), 'highwater-bench-run-'));
  const output = path.join(folder, 'output');
  const running = startProcess({ command, args, ...(env && { env }), output, folder });
  try {
    started?.(running.pid);
    const deadline = Date.now() + withinMs;
    while (!running.hasEnded) {
      if (Date.now() > deadline) {
        throw new Error(`${command} ${args.join(' ')} did not end in time:\n${running.output()}`);
      }
      await sleep(20);
    }
    const lines = readFileSync(output, 'utf8').split('\n');
    const values = lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as Value);
    if (values.length === 0)
      throw new Error(`${command} ${args.join(' ')} printed no result:\n${running.output()}`);
    return values;
  } finally {
    await running.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A part with ten million records, on a slow machine. */
const SCRIPT_MS = 3 * 3_600_000;

/** Runs a TypeScript program of this folder, which prints one line of JSON. @param input its only argument, as JSON */
export async function runScript<Value>(file: string, input: unknown): Promise<Value> {
  const tsx = pathToFileURL(require.resolve('tsx')).href;
  const args = ['--import', tsx, file, JSON.stringify(input)];
  const [value] = await runJson<Value>({
    command: process.execPath,
    args,
    env: process.env,
    withinMs: SCRIPT_MS,
  });
  return value!;
}
