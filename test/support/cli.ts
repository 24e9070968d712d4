import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { build, root } from './build';

/** The real command line in a process of its own. */
export interface CliProcess {
  readonly pid: number;
  stdout(): string;
  stderr(): string;
  /** Resolves with the match as soon as what was printed fits. @throws with all that was printed, at the deadline or the end */
  sees(pattern: RegExp, stream?: 'stdout' | 'stderr', withinMs?: number): Promise<RegExpExecArray>;
  /** Resolves when its stdout, left unread, holds something. */
  printing(): Promise<void>;
  signal(name: NodeJS.Signals): void;
  /** Nobody reads it from here on. */
  close(stream: 'stdout' | 'stderr'): void;
  /** Resolves when it has ended; code and signal as Node tells them. */
  ended(withinMs?: number): Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}

export interface CliOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Leaves its stdout unread, so that the pipe fills up. */
  readonly stalled?: boolean;
}

const DEADLINE_MS = 15_000;

/** Resolves when the condition holds. @throws at the deadline */
export async function until(holds: () => boolean, withinMs = DEADLINE_MS): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (!holds()) {
    if (Date.now() > deadline) throw new Error(`not within ${withinMs} ms: ${holds}`);
    await delay(10);
  }
}

type StartProcess = (args: readonly string[], options?: CliOptions) => CliProcess;

/** Starts command lines, as `processes` does. */
export function commandLine(): StartProcess {
  return processes((dist) => [path.join(dist, 'cli', 'main.js')]);
}

/** Starts TypeScript programs of the examples, named from their folder, as `processes` does: with what is built, not with src/. */
export function examplePrograms(): StartProcess {
  const loader = pathToFileURL(require.resolve('tsx')).href;
  const start = processes(() => ['--import', loader]);
  return ([program, ...args], options) => start([path.join(root, 'examples', program!), ...args], options);
}

/** Starts programs of Node, as `processes` does: `DIST` in their environment is where what is built lies. */
export function nodePrograms(): StartProcess {
  let dist = '';
  const start = processes((built) => {
    dist = built;
    return [];
  });
  return (args, options) => start(args, { ...options, env: { ...options?.env, DIST: dist } });
}

/**
 * Starts Node processes for the tests of the file it is called in, and kills those that still run after each of them. They
 * see no settings but those given.
 * @param before what goes before the arguments
 */
function processes(before: (dist: string) => readonly string[]): StartProcess {
  const running = new Set<CliProcess>();
  let first: readonly string[] = [];
  beforeAll(async () => {
    first = before(await build());
  });
  afterEach(async () => {
    for (const one of running) one.signal('SIGKILL');
    await Promise.all([...running].map((one) => one.ended()));
    running.clear();
  });
  return (args, options = {}) => {
    const started = start([...first, ...args], options);
    running.add(started);
    return started;
  };
}

function start(args: readonly string[], { env = {}, cwd, stalled = false }: CliOptions): CliProcess {
  const { PATH, TMPDIR, HOME } = process.env;
  const own = Object.entries({ PATH, TMPDIR, HOME }).filter(([, value]) => value !== undefined);
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...Object.fromEntries(own), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const printed = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    if (stalled && name === 'stdout') continue;
    child[name].setEncoding('utf8').on('data', (text: string) => {
      printed[name] += text;
    });
  }
  // A pipe that nobody reads never closes.
  const closed = once(child, stalled ? 'exit' : 'close');
  let isClosed = false;
  void closed.then(() => {
    isClosed = true;
  });
  const said = () => `stdout:\n${printed.stdout}\nstderr:\n${printed.stderr}`;

  return {
    pid: child.pid!,
    stdout: () => printed.stdout,
    stderr: () => printed.stderr,
    async sees(pattern, stream = 'stdout', withinMs = DEADLINE_MS) {
      const deadline = Date.now() + withinMs;
      for (;;) {
        const last = isClosed;
        const match = pattern.exec(printed[stream]);
        if (match !== null) return match;
        if (last || Date.now() > deadline) throw new Error(`no ${pattern} on ${stream}\n${said()}`);
        await delay(10);
      }
    },
    async printing() {
      await once(child.stdout, 'readable');
    },
    signal: (name) => void child.kill(name),
    close: (stream) => void child[stream].destroy(),
    async ended(withinMs = DEADLINE_MS) {
      const late = delay(withinMs, 'late', { ref: false });
      if ((await Promise.race([closed, late])) === 'late')
        throw new Error(`still running after ${withinMs} ms\n${said()}`);
      return { code: child.exitCode, signal: child.signalCode };
    },
  };
}
