import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { DEADLINE_MS, until } from './until';

/** A program on a given Node, whose timers and CPU time are measured. */
export interface WatchedProcess {
  stdout(): string;
  stderr(): string;
  /** Timers that were set to a time in the past, with where: the first ones. */
  intoThePast(): string[];
  /** Each second of its life so far. */
  seconds(): readonly Second[];
  /** Resolves with the exit code; null when a signal ended it. SIGKILL at the deadline. */
  ended(withinMs?: number): Promise<number | null>;
  /** SIGTERM, and `ended`. */
  stop(): Promise<number | null>;
}

interface Second {
  /** So many were set. */
  readonly timers: number;
  readonly cpuMs: number;
}

interface WatchOptions {
  /** Path of Node; by default the Node that runs this. */
  readonly node?: string;
  /** A line of the watch goes to a file there. */
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

type Line = { readonly past: number; readonly stack: string } | Second;

const preload = path.join(__dirname, 'timer-watch.cjs');

/** @param args of Node */
export function startWatched(
  args: readonly string[],
  { node = process.execPath, cwd, env = {} }: WatchOptions,
): WatchedProcess {
  const file = path.join(cwd, `timers-${randomUUID()}`);
  const { PATH, TMPDIR, HOME } = process.env;
  const child = spawn(node, ['--require', preload, ...args], {
    cwd,
    env: { PATH, TMPDIR, HOME, ...env, TIMER_WATCH_FILE: file },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const printed = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      printed[name] += text;
    });
  const closed = once(child, 'close');

  function lines(): Line[] {
    if (!existsSync(file)) return [];
    const whole = readFileSync(file, 'utf8').split('\n').slice(0, -1);
    return whole.map((line) => JSON.parse(line) as Line);
  }

  async function ended(withinMs = DEADLINE_MS): Promise<number | null> {
    const timer = setTimeout(() => child.kill('SIGKILL'), withinMs);
    await closed.finally(() => clearTimeout(timer));
    return child.exitCode;
  }

  return {
    stdout: () => printed.stdout,
    stderr: () => printed.stderr,
    intoThePast: () => lines().flatMap((line) => ('past' in line ? `${line.past} ms, ${line.stack}` : [])),
    seconds: () => lines().flatMap((line) => ('past' in line ? [] : line)),
    ended,
    stop() {
      child.kill('SIGTERM');
      return ended();
    },
  };
}

/** Measured over a second without work. kafkajs left alone sets a thousand timers a second for each of its connections. */
const calm: Second = { timers: 50, cpuMs: 250 };

/** Resolves when a program that waits hardly sets timers, and computes little. @throws when it does not come to that */
export async function rests(program: WatchedProcess): Promise<void> {
  const last = () => program.seconds().slice(-2);
  await until(
    () =>
      last().length === 2 && last().every(({ timers, cpuMs }) => timers < calm.timers && cpuMs < calm.cpuMs),
  ).catch((cause) => {
    throw new Error(`no rest: ${JSON.stringify(last())}`, { cause });
  });
}
