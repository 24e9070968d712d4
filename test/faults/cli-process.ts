import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { build } from '../support/build';

/** A real program, such as the command line, in a process of its own. */
export interface CliProcess {
  readonly pid: number;
  /** All that it wrote to stdout and stderr so far. */
  output(): string;
  /** Exit code, null when a signal ended it. */
  readonly exited: Promise<number | null>;
  hasExited(): boolean;
  signal(name: NodeJS.Signals): void;
}

export interface CliOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

export interface Starter {
  start(args: readonly string[], options: CliOptions): CliProcess;
  /** Kills the processes that a failed test left. */
  killAll(): Promise<void>;
}

/** Built before the first start. */
export async function cliStarter(): Promise<Starter> {
  return programStarter([path.join(await build(), 'cli', 'main.js')]);
}

/** @param program arguments of Node before those of each start */
export function programStarter(program: readonly string[]): Starter {
  const running = new Set<CliProcess>();
  return {
    start(args, { env, cwd }) {
      const child = spawn(process.execPath, [...program, ...args], {
        cwd,
        env: { PATH: process.env.PATH, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let output = '';
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text: string) => {
          output += text;
        });
      const exited = once(child, 'exit').then(([code]) => {
        running.delete(started);
        return code as number | null;
      });
      const started: CliProcess = {
        pid: child.pid!,
        output: () => output,
        exited,
        hasExited: () => child.exitCode !== null || child.signalCode !== null,
        signal: (name) => void child.kill(name),
      };
      running.add(started);
      return started;
    },
    async killAll() {
      const left = [...running];
      for (const each of left) each.signal('SIGKILL');
      await Promise.all(left.map(({ exited }) => exited));
    },
  };
}
